"""`--save`: names that are safe, and files that `send --payload` and `test` take."""

import json
import stat
from pathlib import Path

import pytest

from router.cli.captured_request import read_captured
from router.cli.listening.saving import name_of, saver
from router.errors import UsageError
from router.operator.answers import EventRow
from tests.unit.cli.conftest import SMALL, Router
from tests.unit.cli.listening.conftest import Maker

ODD = (
    '{"id": 12345678901234567890, "total_price": "1.50", "rate": 0.10, "text": "a: b # c\\n'
    '\\u0085\u0085\u2028\ufeff\\ud83d\\ude00 {{ }} \\/ \\"q\\"", "list": [], "none": null}'
).encode()


def test_bytes_are_kept_as_they_came(make: Maker, tmp_path: Path) -> None:
    arrived = make(body=b"\x00\xff no JSON", query="a=1", headers=(("x-latin", "\xfc"),))
    path = Path(saver(tmp_path / "new")(arrived))
    assert (path.suffix, path.read_bytes()) == (".body", arrived.body)
    assert sorted(p.name for p in path.parent.iterdir()) == [
        path.name,
        f"{name_of(arrived)}.request.json",
    ]
    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_request_can_be_read_again(make: Maker, tmp_path: Path) -> None:
    arrived = make(body=b"\x00\xff", query="a=1")
    saver(tmp_path)(arrived)
    request = read_captured(tmp_path / f"{name_of(arrived)}.request.json")
    assert (request.method, request.raw_path, request.query_string) == ("POST", b"/wh_x", b"a=1")
    assert request.body == arrived.body
    assert (b"x-shopify-topic", b"orders/paid") in request.headers


def test_its_test_runs(
    make: Maker, tmp_path: Path, router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = make(body=ODD)
    saver(tmp_path)(arrived)
    monkeypatch.setenv("SHOP_SECRET", "s" * 32)
    rules = tmp_path / "rules.yaml"
    text = "\n".join(line for line in SMALL.splitlines() if "mail" not in line)
    match = """match: ["payload.rate == 0.1", "payload.id == 12345678901234567890"], """
    rules.write_text(
        text.replace('actions: {log: "{{ payload.id }}"}', match + "actions: {log: x}")
    )
    test = tmp_path / f"{name_of(arrived)}.test.yaml"
    test.rename(tmp_path / "rules.test.yaml")
    ran = router("test", rules, "--json")
    assert ran.code == 0, ran.out + ran.err
    assert json.loads(ran.out)


def test_its_body_can_be_sent(make: Maker, tmp_path: Path, rules: Path, router: Router) -> None:
    path = saver(tmp_path / "saved")(make())
    ran = router("send", "shop", "orders/paid", "-f", rules, "--payload", path)
    assert "nothing listens" in ran.err  # it was read, signed and on its way


@pytest.mark.parametrize(
    ("endpoint", "event"), [("../up", "a/../../b"), ("", "\x00;rm -rf ~"), ("a", "." * 300)]
)
def test_names_mean_nothing_to_a_file_system_or_shell(
    make: Maker, tmp_path: Path, endpoint: str, event: str
) -> None:
    arrived = make(endpoint=endpoint, events=(EventRow(0, "evt", event),), id="dlv_../x")
    name = name_of(arrived)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    assert len(name) < 220
    assert Path(saver(tmp_path)(arrived)).parent == tmp_path


def test_one_that_comes_twice_is_kept_once_and_a_link_is_not_followed(
    make: Maker, tmp_path: Path
) -> None:
    save, arrived = saver(tmp_path), make()
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path = tmp_path / f"{name_of(arrived)}.body.json"
    path.symlink_to(precious)
    assert save(arrived) == save(arrived) == str(path)
    assert (precious.read_text(), path.read_bytes()) == ("mine", arrived.body)


def test_a_folder_that_cannot_be_is_said(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot make"):
        saver(tmp_path / "file" / "x")
