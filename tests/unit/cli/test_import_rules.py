"""`router import`: what is written where, what is listed, and that no secret is printed."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Router

HOOK = {
    "id": "deploy",
    "execute-command": "/bin/true",
    "trigger-rule": {
        "match": {
            "type": "payload-hmac-sha256",
            "secret": "a secret's text",
            "parameter": {"source": "header", "name": "X-Hub-Signature-256"},
        }
    },
}


@pytest.fixture(autouse=True)
def _hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hooks.json").write_text(json.dumps([HOOK]))
    Path("more.yaml").write_text("- {id: more, execute-command: /bin/more, response-header: 1}")


def test_rules_go_to_stdout_and_words_beside_them(router: Router) -> None:
    ran = router("import", "webhook", "hooks.json")
    assert ran.code == 0
    assert ran.out.startswith("# Made by `router import webhook` of hooks.json.\n")
    assert "1 of 1 hook taken over" in ran.err
    assert "set these variables, or write them with --secrets FILE: DEPLOY_SECRET" in ran.err
    assert "a secret" not in ran.out + ran.err


def test_files_are_written_and_never_written_over(router: Router) -> None:
    made = ("import", "webhook", "hooks.json", "-o", "rules.yaml", "--secrets", "secrets.env")
    assert "the secrets are in secrets.env, for you alone: DEPLOY_SECRET" in router(*made).err
    assert Path("secrets.env").read_text() == "DEPLOY_SECRET='a secret'\"'\"'s text'\n"
    assert Path("secrets.env").stat().st_mode & 0o777 == 0o600
    assert router("check", "--strict", "rules.yaml").code == 0
    assert router("test", "rules.yaml").code == 0
    again = router(*made)
    assert again.code == 2
    assert "rules.yaml exists already; name another file" in again.err
    assert router(*made[:-3], "other.yaml", *made[-2:]).code == 2
    assert not Path("other.yaml").exists()


def test_the_secrets_are_written_beside_the_rules(router: Router) -> None:
    made = ("import", "webhook", "hooks.json", "more.yaml", "--allow-unsigned", "-o", "rules.yaml")
    assert router(*made).code == 0
    assert Path("rules.env").read_text().startswith("DEPLOY_SECRET=")
    assert Path("rules.env").stat().st_mode & 0o777 == 0o600
    assert router("import", "webhook", "more.yaml", "-o", "more").code == 1
    assert not Path("more.env").exists()


@pytest.mark.parametrize(
    ("keys", "flags", "code"),
    [
        ({}, (), 0),
        ({"response-header": 1}, (), 0),
        ({"trigger-rule": None}, (), 1),
        ({"trigger-rule": None}, ("--allow-unsigned",), 0),
        ({"execute-command": ""}, ("--allow-unsigned",), 1),
    ],
)
def test_a_hook_that_is_lost_or_open_makes_the_exit_code_1(
    router: Router, keys: dict[str, object], flags: tuple[str, ...], code: int
) -> None:
    Path("one.json").write_text(json.dumps([HOOK | keys]))
    assert router("import", "webhook", "one.json", "--check", *flags).code == code


def test_what_is_otherwise_is_listed(router: Router) -> None:
    ran = router("import", "webhook", "hooks.json", "more.yaml", "--check", "--allow-unsigned")
    assert (ran.code, ran.out) == (0, "")
    assert "more.yaml:1:42: warning imported-otherwise: " in ran.err
    assert "did you mean 'response-headers'?" in ran.err
    assert "2 of 2 hooks taken over" in ran.err


def test_json_is_for_programs(router: Router) -> None:
    ran = router("import", "webhook", "hooks.json", "more.yaml", "--json")
    found = json.loads(ran.out)
    assert (found["hooks"], found["taken"], found["variables"]) == (2, 2, ["DEPLOY_SECRET"])
    assert found["rules"].startswith("# Made by")
    assert [one["code"] for one in found["listed"]] == ["imported-unsigned", "imported-otherwise"]
    assert "a secret" not in ran.out


def test_options_mean_what_they_mean_for_webhook(router: Router) -> None:
    flags = ("--ip", "::1", "--port", "80", "--urlprefix", "/", "--http-methods", "put, get")
    out = router("import", "webhook", "hooks.json", *flags, "--secure").out
    assert "listen: '[::1]:80'" in out
    assert "tls: {cert: cert.pem, key: key.pem}" in out
    assert "paths: /deploy," in out
    assert "methods: [PUT, GET]" in out


def test_without_a_hook_that_can_be_taken_nothing_is_written(router: Router) -> None:
    Path("none.json").write_text('[{"id": "a"}]')
    ran = router("import", "webhook", "none.json", "-o", "rules.yaml")
    assert ran.code == 1
    assert "0 of 1 hook taken over" in ran.err
    assert not Path("rules.yaml").exists()


def test_what_the_rules_cannot_hold_is_shown_as_check_shows_it(router: Router) -> None:
    match = {"type": "regex", "regex": "a" * 1001, "parameter": {"source": "url", "name": "q"}}
    Path("long.json").write_text(json.dumps([HOOK | {"trigger-rule": {"match": match}}]))
    ran = router("import", "webhook", "long.json", "-o", "long.yaml")
    assert ran.code == 1
    assert "long.yaml:" in ran.err
    assert "error bad-pattern" in ran.err


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot read none.json: No such file"), (b"\xff", "none.json is not UTF-8")],
)
def test_a_file_that_cannot_be_read(content: bytes | None, words: str, router: Router) -> None:
    if content is not None:
        Path("none.json").write_bytes(content)
    ran = router("import", "webhook", "none.json")
    assert ran.code == 2
    assert words in ran.err
