"""The operator's commands against a running server: through its admin listener, with its token."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from router.cli.main import run
from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import ROOT, Rig, called, free_ports

pytestmark = pytest.mark.long

RULES = """
rules:
  - {id: hopeless, from: shop, actions: {shell: {argv: ["false"]}}}
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rig(make_rig: MakeRig) -> Iterator[Rig]:
    """A server with one rule whose action always fails; one delivery has gone through it."""
    rig = make_rig(RULES)
    with rig.router() as router:
        assert called(rig, "send", "shop", "orders/paid")[0] == 0
        router.until(lambda: len(dead(rig)) == 1, "the dead job")
        yield rig


def dead(rig: Rig) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(called(rig, "dead", "--list", "--json")[1])
    return found


def test_verbs_go_to_the_server_that_holds_the_store(rig: Rig) -> None:
    code, out, err = called(rig, "replay", "--rule", "hopeless", "--yes")
    assert (code, out.splitlines()[0], err) == (0, "1 job of 1 delivery replayed", "")
    code, out, err = called(rig, "revive", str(dead(rig)[0]["id"])[:20])
    assert (code, err) == (0, "")
    assert out in ("1 job revived\n", "0 jobs revived\n")
    code, out, err = called(rig, "cancel", "--rule", "hopeles", "--yes")
    assert (code, out) == (2, "")
    assert "there is no rule 'hopeles'; did you mean 'hopeless'?" in err


def test_a_hint_stands_before_the_list(rig: Rig) -> None:
    """After it, it would come behind the next prompt where the list goes into a pipe."""
    ran = subprocess.run(
        [sys.executable, "-m", "router", "dead", "-f", str(rig.path)],
        env={**os.environ, **rig.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert ran.stdout.index("again, for instance") < ran.stdout.index("CAUSE")


def test_the_same_selection_again_makes_none(make_rig: MakeRig) -> None:
    """Of the server here, as if it were elsewhere, and after a restart; it says what made them."""
    rig = make_rig(RULES)

    def jobs() -> int:
        listed = json.loads(called(rig, "deliveries", "--json")[1])
        return sum(sum(one["jobs"].values()) for one in listed)

    again = ("replay", "--rule", "hopeless", "--yes")
    with rig.router() as router:
        for _ in range(2):
            assert called(rig, "send", "shop", "orders/paid")[0] == 0
        router.until(lambda: len(dead(rig)) == 2, "the dead jobs")
        first = json.loads(called(rig, *again, "--json")[1])
        assert (first["jobs"], jobs()) == (2, 4)
        there = ("--server", f"http://127.0.0.1:{rig.admin}")
        token = Path(f"{rig.store}.token").read_text("ascii").strip()
        outs = [called(rig, *again)[1], called(rig, *again, *there, ROUTER_TOKEN=token)[1]]
        assert router.stop() == 0, router.output()
    with rig.router("--hold"):
        outs.append(called(rig, *again)[1])
        reported = rf"all 2 were replayed at \S+ by {first['id']}; `--again` does it once more\n"
        assert all(re.fullmatch(reported, out) for out in outs), outs
        assert jobs() == 4
        assert json.loads(called(rig, *again, "--again", "--json")[1])["jobs"] == 2
        assert jobs() == 6


def on_a_terminal(rig: Rig, answer: str, *args: str) -> tuple[int, str]:
    """A command as a person at a terminal runs it, who answers its question."""
    mine, its = pty.openpty()
    plain = {n: os.environ[n] for n in ("PATH", "HOME", "LANG") if n in os.environ}
    with subprocess.Popen(
        [sys.executable, "-m", "router", *args],
        cwd=ROOT,
        env={**plain, **rig.environ, "ROUTER_RULES": str(rig.path), "COLUMNS": "200"},
        stdin=its,
        stdout=its,
        stderr=its,
    ) as process:
        os.close(its)
        os.write(mine, answer.encode() + b"\n")
        said = bytearray()
        with contextlib.suppress(OSError):  # how Linux says that the other side has gone
            while more := os.read(mine, 4096):
                said += more
        code = process.wait(60)
    os.close(mine)
    return code, said.decode()


def test_a_terminal_is_asked_before_a_selection_is_changed(rig: Rig) -> None:
    """By each verb that takes one, of this server and of one elsewhere; no is no."""
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    there = ("--server", f"http://127.0.0.1:{rig.admin}")
    for verb, word in (("revive", "revived"), ("replay", "replayed")):
        before = called(rig, "audit", "--json")[1]
        code, said = on_a_terminal(rig, "n", verb, "--state", "dead")
        assert (code, f"would be {word}" in said) == (130, True), said
        assert f"{verb.capitalize()} them? [y/N]" in said
        assert called(rig, verb, "--state", "dead")[0] == 2
        code, out, _ = called(rig, verb, "--state", "dead", "--dry-run", *there, ROUTER_TOKEN=token)
        assert (code, out.splitlines()[0]) == (0, f"1 job of 1 delivery would be {word}")
        assert called(rig, verb, "--state", "dead", *there, ROUTER_TOKEN=token)[0] == 2
        assert called(rig, "audit", "--json")[1] == before
    code, said = on_a_terminal(rig, "y", "replay", "--state", "dead")
    assert (code, "1 job of 1 delivery replayed" in said) == (0, True), said
    code, said = on_a_terminal(rig, "y", "cancel", "--state", "succeeded")
    assert (code, "0 jobs of 0 deliveries would be cancelled" in said) == (0, True), said


def test_what_was_counted_outlives_the_server(make_rig: MakeRig) -> None:
    """Each run adds to it."""
    rig = make_rig(RULES)
    for _ in range(2):
        with rig.router() as router:
            assert called(rig, "send", "shop", "orders/paid")[0] == 0
            assert router.stop() == 0, router.output()
    [reported] = json.loads(called(rig, "rules", "--json")[1])
    assert {**reported["counted"], "since": 0, "last_matched_at": 0} == {
        "since": 0,
        "evaluated": 2,
        "matched": 2,
        "errored": 0,
        "shadowed": 0,
        "last_matched_at": 0,
    }


def test_a_running_server_is_asked_for_what_it_only_counts_yet(rig: Rig) -> None:
    """Copies and matches reach the store later; who looks has them at once."""
    assert called(rig, "send", "shop", "orders/paid")[0] == 0
    assert called(rig, "send", "shop", "--again")[0] == 0
    [newest, _] = json.loads(called(rig, "deliveries", "--json")[1])
    assert newest["duplicates"] == 1
    assert called(rig, "send", "shop", "--again")[0] == 0
    assert "×3" in called(rig, "show", newest["id"])[1]
    [reported] = json.loads(called(rig, "rules", "--json")[1])
    assert reported["counted"]["matched"] == 2
    assert reported["counted"]["last_matched_at"] == newest["received_at"]


def test_refusals_come_from_the_running_server(rig: Rig) -> None:
    assert called(rig, "send", "shop", "orders/paid", "--tamper", "signature")[0] == 0
    code, out, _ = called(rig, "deliveries", "--refused", "--json")
    assert code == 0
    assert [r["reason"] for r in json.loads(out)] == ["bad_signature"]
    for args, count in (
        (["--endpoint", "shop"], 1),
        (["--until", "1h"], 0),
        (["--since", "1h"], 1),
    ):
        listed = json.loads(called(rig, "deliveries", "--refused", "--json", *args)[1])
        assert len(listed) == count, args
    code, out, err = called(rig, "deliveries", "--refused", "--endpoint", "shp")
    assert (code, out) == (2, "")
    assert "there is no endpoint 'shp'; did you mean 'shop'?" in err
    code, _, err = called(rig, "deliveries", "--refused", "--rule", "hopeless")
    assert code == 2
    assert "--rule is for deliveries that were stored" in err


def test_a_remote_server_wants_its_token(rig: Rig) -> None:
    there = (
        "replay",
        "--rule",
        "hopeless",
        "--dry-run",
        "--server",
        f"http://127.0.0.1:{rig.admin}",
    )
    code, _, err = called(rig, *there)
    assert code == 1
    assert "does not accept the token; set ROUTER_TOKEN" in err
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    code, out, _ = called(rig, *there, ROUTER_TOKEN=token)
    assert (code, out.splitlines()[0]) == (0, "1 job of 1 delivery would be replayed")


def test_a_server_of_another_store_gets_no_call(rig: Rig, tmp_path: Path) -> None:
    """Two routers on one machine: the wrong one must not be asked to replay our deliveries."""
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    other = tmp_path / "other.db"
    for kept in ("of another router", token):  # as where both have one `state_dir`
        Path(f"{other}.token").write_text(kept, "ascii")
        code, _, err = called(
            rig, "cancel", "--rule", "x", "--yes", "--store", str(other), ROUTER_TOKEN=token
        )
        assert code == 1
        assert f"127.0.0.1:{rig.admin} is not the router of {other}: " in err


def test_where_no_router_answers_its_address_is_to_be_named(rig: Rig) -> None:
    [nobody] = free_ports(1)
    code, _, err = called(rig, "cancel", "--rule", "x", "--yes", "--admin", f"127.0.0.1:{nobody}")
    assert code == 1
    assert f"no server runs at http://127.0.0.1:{nobody}: start `router serve`" in err
    assert "one that listens elsewhere is named by --admin" in err


def test_what_is_no_admin_api_is_said(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    public = f"http://127.0.0.1:{rig.listen}"
    assert run(["cancel", "--rule", "x", "--yes", "--server", public], {}) == 1
    err = capsys.readouterr().err
    assert err == f"router: {public}/api/cancel is not a router's admin API\n"
