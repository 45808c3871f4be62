"""What tests send: names that payloads do not have, and payloads from files."""

from pathlib import Path

import pytest

from router.config import load
from tests.rehearsing import found, said

SHOP = """\
version: 1
secrets: {shop: {env: A}, mail: {env: M}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  code: {id: 97aa3c5e1d2b4f6089e7c4b3a2d1f0e8, provider: github, verify: none}
  mail: {id: 2b7d4e9a0c1f4b8e8d3a6f5c9e7b1a20, provider: sendgrid, secrets: mail}
  mine: {id: 37aa3c5e1d2b4f6089e7c4b3a2d1f0e9, provider: none, verify: none}
rules:
  - {id: told, from: all, actions: {log: "{{ payload.id }}"}}
tests:
  - name: t
    send: {%s}
    expect: {calls: {told/log: {message: "7"}}}
"""
PAID = "endpoint: shop, event: orders/paid, "


@pytest.mark.parametrize(
    ("send", "complaint"),
    [
        (PAID + "set: {totl_price: 5}",
         "misspelt-field: payload has no field 'totl_price' (did you mean 'total_price'?)"),
        (PAID + "set: {'line_items[0].skuu': 1}",
         "misspelt-field: payload.line_items[] has no field 'skuu' (did you mean 'sku'?)"),
        (PAID + "set: {quux: 1}", "unknown-field: no known field 'quux' in payload"),
        (PAID + "payload: {id: 7, line_items: [{sku: A, skuu: 1}]}",
         "misspelt-field: payload.line_items[] has no known field 'skuu' (did you mean 'sku'?)"),
        ("endpoint: mail, event: bounce, payload: [{event: bounce, emial: x}]",
         "misspelt-field: payload has no known field 'emial' (did you mean 'email'?)"),
        ("endpoint: code, event: workflow_run.completed, set: {workflow_run.conclusin: x}",
         ("misspelt-field: payload.workflow_run has no field 'conclusin' "
         "(did you mean 'conclusion'?)")),
        (PAID + "payload: order.json", ("bad-step: 'order.json' is a text here, not a file "
         "(to send what the file holds write {file: order.json})")),
        (PAID + "payload: '@in/order.json'", ("bad-step: '@in/order.json' is a text here, "
         "not a file (to send what the file holds write {file: in/order.json})")),
    ],
)  # fmt: skip
def test_a_name_that_the_payload_does_not_have_is_said(send: str, complaint: str) -> None:
    assert found(SHOP % send) == [complaint]


@pytest.mark.parametrize(
    "send",
    [
        PAID + "set: {total_price: 5, 'line_items[0].sku': A, line_items.0.sku: A, test: true}",
        PAID + "payload: {id: 7, line_items: [{sku: A}]}",
        PAID + "set: {'note_attributes[0].name': x}",
        PAID + "payload: {id: 7, name: a, email: b, note: c, test: true, total_price: '1', "
        "currency: EUR, tags: d, notes: new, quux: new}",
        "endpoint: mine, event: unknown, set: {anything: 1}",
        "endpoint: mine, event: unknown, payload: {anything: [{goes: 1}]}",
        "endpoint: mine, event: unknown, payload: 12.50",
        "endpoint: mine, event: unknown, payload: {file: order.json, beside: another}",
    ],
)
def test_what_is_known_or_open_is_not_doubted(send: str) -> None:
    assert found(SHOP % send) == []


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "rules.yaml"


def test_a_payload_from_a_file_is_sent_as_it_is(rules: Path) -> None:
    (rules.parent / "in" / "bounce.json").write_text('[{"event": "bounce", "id": 7, "emial": 1}]')
    send = "endpoint: mail, event: bounce, payload: {file: in/bounce.json}, repeat: 2"
    # The second is a repetition: its ids are those of the file.
    assert said((SHOP % send).replace("told/log: {", "told/log: {times: 1, "), rules) == []


def test_a_file_is_relative_to_the_file_that_names_it(rules: Path) -> None:
    head, tests = (SHOP % (PAID + "payload: {file: order.json}")).split("tests:\n")
    (rules.parent / "in" / "more.yaml").write_text("version: 1\nvars: {a: 1}\n")
    (rules.parent / "in" / "more.test.yaml").write_text("version: 1\ntests:\n" + tests)
    (rules.parent / "in" / "order.json").write_text('{"id": 7}')
    assert said(head + "include: in/more.yaml\n", rules) == []


@pytest.mark.parametrize(
    ("held", "complaint"),
    [
        (None, ("cannot read 'order.json': No such file or directory "
         "(relative to the file it stands in)")),
        (b"{", "'order.json' is not JSON: "),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_payload_is_said(
    rules: Path, held: bytes | None, complaint: str
) -> None:
    text = SHOP % (PAID + "payload: {file: order.json}")
    if held is not None:
        (rules.parent / "order.json").write_bytes(held)
    (line,) = found(text, rules)
    assert line.startswith(f"bad-step: {complaint}")
    # Who only serves the file runs no tests and reads none of their payloads.
    served = load(text, path=str(rules), env={})
    assert (served.diagnostics, served.test_data) == ((), frozenset())
    tried = load(text, path=str(rules), env={}, tests=True)
    assert tried.test_data == {str(rules.parent / "order.json")}
