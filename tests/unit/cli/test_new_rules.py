"""`router new rules`: a file that `check` has nothing to say about, and never an old one lost."""

import json
import os
import pty
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from router.cli.dev_hints import hints
from router.cli.options import Options
from router.config import load
from router.providers import builtin
from router.rules.live import LiveRuleset, SecretValues
from tests.unit.cli.conftest import ROOT, Router

NAMES = ("shopify", "sendgrid", "github")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def flags(names: tuple[str, ...]) -> list[str]:
    return [word for name in names for word in ("--provider", name)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_it_writes_passes_check_without_a_word(count: int, router: Router) -> None:
    for number, names in enumerate(combinations(NAMES, count)):
        assert router("new", "rules", f"{number}.yaml", *flags(names)).code == 0
        ran = router("check", "--strict", f"{number}.yaml")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.count("\n") == 1
        assert "{env: " in Path(f"{number}.yaml").read_text("utf-8")


@pytest.mark.parametrize("name", sorted({p.name for p in builtin().values()}))
def test_a_file_for_any_sender_passes_check(name: str, router: Router) -> None:
    assert router("new", "rules", "--provider", name, "--provider", "github").code == 0
    assert router("check", "--strict", "rules.yaml").code == 0
    assert load(Path("rules.yaml").read_text("utf-8"), path="rules.yaml", env={}).ruleset


def test_each_rule_matches_the_sample_that_it_names(router: Router, tmp_path: Path) -> None:
    """What is pasted next must show an action at work."""
    ran = router("new", "rules", *flags(NAMES))
    assert ran.out.splitlines()[-1].endswith("send shop orders/paid")
    text = Path("rules.yaml").read_text("utf-8")
    ruleset = load(text, path="rules.yaml", env={}).ruleset
    assert ruleset is not None
    assert [
        line.split("send ")[1] for line in hints(Options(rules=Path("rules.yaml")), ruleset)
    ] == [
        "shop orders/paid",
        "mail bounce",
        "code push",
    ]
    assert len(LiveRuleset(ruleset, SecretValues({}, {})).actions) == 6


def test_ids_are_fresh(router: Router) -> None:
    router("new", "rules", "a.yaml", "--provider", "shopify")
    router("new", "rules", "b.yaml", "--provider", "shopify")
    assert Path("a.yaml").read_text("utf-8") != Path("b.yaml").read_text("utf-8")


def test_an_old_file_is_left_alone(router: Router) -> None:
    Path("rules.yaml").write_text("mine", "utf-8")
    ran = router("new", "rules", "--provider", "shopify")
    assert ran.code == 2
    assert "exists already" in ran.err
    assert Path("rules.yaml").read_text("utf-8") == "mine"


def test_a_link_to_nowhere_is_not_written_through(router: Router) -> None:
    """Nor is a file that appeared after the first look."""
    Path("rules.yaml").symlink_to("elsewhere.yaml")
    ran = router("new", "rules", "--provider", "shopify")
    assert (ran.code, "exists already" in ran.err) == (2, True)
    assert not Path("elsewhere.yaml").exists()


def test_the_next_three_commands_fit_the_file(router: Router) -> None:
    ran = router("new", "rules", "my rules.yaml", "--provider", "github")
    *_, serve, sink, send = ran.out.splitlines()
    assert serve.endswith(" serve --dev 'my rules.yaml'")
    assert sink.endswith(" sink")
    assert send.endswith(" send -f 'my rules.yaml' code push")


def test_a_url_of_ones_own_is_called_as_it_stands(router: Router) -> None:
    url = "https://erp.example.net/hooks/{{ event }}?by=router"
    ran = router("new", "rules", "--provider", "commerce", "--forward", url)
    assert "sink" not in ran.out
    assert f'- http: "{url}"' in Path("rules.yaml").read_text("utf-8")
    assert router("check", "--strict").code == 0


@pytest.mark.parametrize(
    "url", ["erp.example.net", "ftp://x", 'http://a"b\n', "http://{{ event }}/"]
)
def test_a_url_that_is_none_writes_nothing(url: str, router: Router) -> None:
    ran = router("new", "rules", "--provider", "shopify", "--forward", url)
    assert ran.code == 2
    assert "--forward" in ran.err
    assert not Path("rules.yaml").exists()


def test_two_names_of_one_sender_are_one(router: Router) -> None:
    ran = router("new", "rules", *flags(("github", "code-host")), "--json")
    assert json.loads(ran.out) == {"file": "rules.yaml", "endpoints": ["code"]}


def test_senders_are_named_or_suggested(router: Router) -> None:
    assert "did you mean 'shopify'?" in router("new", "rules", "--provider", "shopfy").err
    assert "name a sender with --provider: shopify" in router("new", "rules").err


def test_a_folder_that_is_not_there(router: Router) -> None:
    ran = router("new", "rules", "no/such.yaml", "--provider", "shopify")
    assert (ran.code, ran.err) == (
        2,
        "router: cannot write no/such.yaml: No such file or directory\n",
    )


def typed_in(typed: str, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """`new rules` at a terminal where this is typed."""
    leader, follower = pty.openpty()
    os.write(leader, typed.encode())
    ran = subprocess.run(
        [sys.executable, "-m", "router", "new", "rules", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=follower,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(leader)
    os.close(follower)
    return ran


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "endpoints", "url"),
    [
        ("\n\n", ["shop"], "http://127.0.0.1:9000/shop"),
        ("SendGrid, github\nhttps://a.example/in\n", ["mail", "code"], "https://a.example/in"),
    ],
)
def test_on_a_terminal_it_asks(typed: str, endpoints: list[str], url: str, tmp_path: Path) -> None:
    ran = typed_in(typed, tmp_path, "--json")
    assert ran.returncode == 0, ran.stderr
    assert "Who sends (shopify, sendgrid, github" in ran.stderr
    assert json.loads(ran.stdout)["endpoints"] == endpoints
    assert f'- http: "{url}"' in Path("rules.yaml").read_text("utf-8")


@pytest.mark.long
def test_a_wrong_answer_is_reported_before_the_next_question(tmp_path: Path) -> None:
    ran = typed_in("shopfy\n", tmp_path)
    assert ran.returncode == 2
    assert "did you mean 'shopify'?" in ran.stderr
    assert "Where" not in ran.stderr
