"""Values of bodies that are no JSON, redacted and erased by a running router."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess, called

pytestmark = pytest.mark.long

CANARY = "ann-canary-5e0c91d7@example.com"
RULES = """
providers:
  forms: {verify: {scheme: none}, event: {field: event}, read: [json, form, multipart, xml]}
endpoints:
  done: {paths: /done, provider: forms, verify: none, redact: [payload.email, payload.r.email]}
  stored:
    {paths: /stored, provider: forms, verify: none,
     redact: {when: stored, fields: [payload.email, payload.r.email]}}
  mail: {paths: /mail, provider: mandrill, verify: none}
rules:
  - {id: hers, from: [done, stored], match: payload.email != null, actions: {log: seen}}
"""
PARTS, NAMED = "multipart/form-data; boundary=XX", "Content-Disposition: form-data; "
HEADS = [
    f"{NAMED}name=email",
    f'{NAMED}NAME="email"',
    f'Content-Type: text/plain; name="mail.txt"\r\n{NAMED}name="email"',
    f'{NAMED}name="x"; name="email"',
]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "router", RULES)


@pytest.fixture
def router(rig: Rig) -> Iterator[RouterProcess]:
    with rig.router() as router:
        yield router
        assert router.stop() == 0


def sent(router: RouterProcess, path: str, kind: str, body: str) -> str:
    headers = {"content-type": kind}
    answer = httpx.post(f"{router.url}/{path}", content=body, headers=headers, trust_env=False)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["delivery"])


def shown(rig: Rig, id_: str) -> dict[str, str]:
    code, out, err = called(rig, "show", id_, "--json")
    assert code == 0, err
    return dict(json.loads(out)["delivery"])


def body_of(head: str) -> str:
    return f"--XX\r\n{head}\r\n\r\n{CANARY}\r\n--XX--\r\n"


@pytest.mark.parametrize("path", ["done", "stored"])
def test_of_a_form_with_files_the_value_goes_and_of_xml_all(
    rig: Rig, router: RouterProcess, path: str
) -> None:
    ids = {head: sent(router, path, PARTS, body_of(head)) for head in HEADS}
    xml = sent(router, path, "text/xml", f"<r><email>{CANARY}</email></r>")
    router.until(lambda: "redacted" in shown(rig, xml)["flags"], "the last one")
    for head, id_ in ids.items():
        delivery = shown(rig, id_)
        assert delivery["body"] == body_of(head).replace(CANARY, "[redacted]")
        assert delivery["flags"] == ["redacted"]
    assert (shown(rig, xml)["body"], shown(rig, xml)["flags"]) == (
        "[redacted]",
        ["redacted", "blanked"],
    )
    assert CANARY not in json.dumps([shown(rig, id_) for id_ in (*ids.values(), xml)])


def test_of_a_batch_in_a_form_one_event_is_erased_whatever_its_letters(
    rig: Rig, router: RouterProcess
) -> None:
    """The form was written anew by what takes ASCII alone, and the erasure never ended."""
    others = '{"event":"send","_id":"2","msg":{"email":"Bob"}}'
    batch = f'[{{"event":"send","_id":"1","msg":{{"email":"Ünal {CANARY}"}}}},{others}]'
    form = f"a=%C3%9C&mandrill_events={quote_plus(batch)}&z=1"
    id_ = sent(router, "mail", "application/x-www-form-urlencoded", form)
    where = ("--where", "contains(payload.msg.email, var.who)", "--var", f"who={CANARY}")
    code, out, err = called(rig, "erase", "--yes", *where)
    assert code == 0, out + err
    assert shown(rig, id_)["body"] == (
        f"a=%C3%9C&mandrill_events={quote_plus(f'[null,{others}]')}&z=1"
    )
