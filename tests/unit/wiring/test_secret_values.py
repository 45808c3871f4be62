"""References to values, invented ones included."""

import stat
from pathlib import Path

import pytest

from router.config import load
from router.errors import SecretMissing, UsageError
from router.rules.ruleset import Ruleset
from router.wiring.dev import DevFile
from router.wiring.rules import texts
from router.wiring.secret_values import resolve_secrets, signing_key, unset_variables

RULES = """
version: 1
secrets:
  shop: {env: SHOP}
  mail: {file: mail.pem}
  chat_url: {env: CHAT_URL}
targets:
  chat: {url: {secret: chat_url}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  mail: {id: 2b7d0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: sendgrid, secrets: mail}
rules:
  - {id: r, from: shop, actions: {http: {target: chat}}}
"""
GOOD = "a-secret-of-some-length"


@pytest.fixture
def ruleset(tmp_path: Path) -> Ruleset:
    """The rules above, in a folder of their own."""
    loaded = load(RULES, path=str(tmp_path / "rules.yaml"), env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    return loaded.ruleset


def test_all_missing_secrets_are_named_at_once(ruleset: Ruleset) -> None:
    """By variable and file, never by value."""
    with pytest.raises(SecretMissing) as caught:
        resolve_secrets(ruleset, environ={"SHOP": GOOD}, dev_file=None)
    assert "CHAT_URL" in str(caught.value)
    assert "mail.pem" in str(caught.value)
    assert "SHOP" not in str(caught.value)


def test_each_problem_says_where_its_secret_is_named(ruleset: Ruleset, tmp_path: Path) -> None:
    """All at once, in the order of the file, with line and column; no value is shown."""
    (tmp_path / "mail.pem").write_text("not a key at all")
    with pytest.raises(SecretMissing) as caught:
        resolve_secrets(ruleset, environ={"CHAT_URL": ""}, dev_file=None, path=Path("r.yaml"))
    shop, mail, chat = str(caught.value).splitlines()
    assert shop == "r.yaml:4:3: secrets.shop: environment variable SHOP is not set"
    assert mail.startswith(f"r.yaml:5:3: secrets.mail: {tmp_path / 'mail.pem'}: ")
    assert mail.endswith("(endpoint mail)")
    assert chat == "r.yaml:6:3: secrets.chat_url: environment variable CHAT_URL is empty"


def test_dev_invents_only_what_is_missing_and_keeps_it(ruleset: Ruleset, tmp_path: Path) -> None:
    """0600, the same at the next start; a URL secret points at the sink."""
    path = tmp_path / ".router-dev.json"
    first, _ = resolve_secrets(ruleset, environ={"SHOP": GOOD}, dev_file=DevFile.load(path))
    again, _ = resolve_secrets(ruleset, environ={"SHOP": GOOD}, dev_file=DevFile.load(path))
    assert first.texts == again.texts
    assert (first.texts["shop"], first.texts["chat_url"]) == (
        GOOD,
        "http://127.0.0.1:9000/chat_url",
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_address_of_an_action_points_at_the_sink_too(tmp_path: Path) -> None:
    """As a rule has it that `router new alert` made."""
    url = 'actions: {http: "{{ secret.chat_url }}"}}'
    text = RULES.replace("  chat: {url: {secret: chat_url}}", '  chat: {url: "http://127.0.0.1:1"}')
    text += f"  - {{id: alert, from: router, events: jobs.dead, {url}\n"
    loaded = load(text, path=str(tmp_path / "rules.yaml"), env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    dev = DevFile.load(tmp_path / ".router-dev.json")
    found, _ = resolve_secrets(loaded.ruleset, environ={}, dev_file=dev)
    assert found.texts["chat_url"] == "http://127.0.0.1:9000/chat_url"


def test_whoever_reads_the_dev_file_meanwhile_has_it_whole(
    ruleset: Ruleset, tmp_path: Path
) -> None:
    """A new file takes the old one's place: what was opened before stays as it was."""
    path = tmp_path / ".router-dev.json"
    resolve_secrets(ruleset, environ={"SHOP": GOOD}, dev_file=DevFile.load(path))
    whole = path.read_bytes()
    with path.open("rb") as opened:
        first = opened.read(10)
        resolve_secrets(ruleset, environ={}, dev_file=DevFile.load(path))
        assert first + opened.read() == whole
    assert DevFile.load(path).verify.keys() == {"shop", "mail", "chat_url"}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_send_signs_with_what_the_router_verifies(ruleset: Ruleset, tmp_path: Path) -> None:
    """A shared secret from the environment, an invented private key from the dev file."""
    dev = DevFile.load(tmp_path / ".router-dev.json")
    resolve_secrets(ruleset, environ={"SHOP": GOOD}, dev_file=dev)
    key = signing_key(ruleset, "shop", environ={"SHOP": GOOD}, dev_file=dev)
    assert key == GOOD.encode()
    assert b"PRIVATE KEY" in signing_key(ruleset, "mail", environ={}, dev_file=dev)


def test_a_public_key_cannot_sign(tmp_path: Path) -> None:
    """The fix is named."""
    pem = DevFile.load(tmp_path / "none")
    rules = RULES.replace("mail.pem", str(tmp_path / "mail.pem"))
    ruleset = load(rules, path="r.yaml", env={}).ruleset
    assert ruleset is not None
    resolve_secrets(ruleset, environ={"SHOP": GOOD}, dev_file=pem)
    (tmp_path / "mail.pem").write_bytes(pem.verify["mail"])
    with pytest.raises(UsageError, match=r"a public key cannot sign.*--key"):
        signing_key(ruleset, "mail", environ={}, dev_file=None)


def test_no_private_key_yet_is_called_so(ruleset: Ruleset, tmp_path: Path) -> None:
    """No public key is there either: `--dev` has not made them yet."""
    for dev in (None, DevFile.load(tmp_path / "none")):
        with pytest.raises(UsageError, match=r"no private key.*--key.*`router serve --dev`"):
            signing_key(ruleset, "mail", environ={}, dev_file=dev)


def test_an_unusable_key_is_refused_at_start(ruleset: Ruleset, tmp_path: Path) -> None:
    """A PEM that is none."""
    (tmp_path / "mail.pem").write_text("not a key")
    with pytest.raises(SecretMissing, match="mail"):
        resolve_secrets(ruleset, environ={"SHOP": GOOD, "CHAT_URL": "http://x"}, dev_file=None)


def test_a_short_secret_is_warned_of(ruleset: Ruleset, tmp_path: Path) -> None:
    """It still works."""
    dev = DevFile.load(tmp_path / ".router-dev.json")
    _, warnings = resolve_secrets(ruleset, environ={"SHOP": "short"}, dev_file=dev)
    assert any("shop" in warning for warning in warnings)
    assert not any("short" in w.replace("shorter", "") for w in warnings)


def test_a_secret_of_an_included_file_is_reported_there(tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("version: 1\nsecrets: {hub: {env: HUB}}\n")
    main = (
        "version: 1\ninclude: more.yaml\n"
        "vars: {x: {env: X}}\nsecrets: {shop: {env: SHOP}}\nendpoints:\n"
        "  a: {id: 97aa0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, secrets: [hub, shop]}\n"
    )
    path = tmp_path / "rules.yaml"
    path.write_text(main)
    found = load(main, path=str(path), env={"X": "1"}).ruleset
    assert found is not None
    with pytest.raises(SecretMissing) as caught:
        resolve_secrets(found, environ={}, dev_file=None, path=path)
    assert sorted(line.partition(": ")[0] for line in str(caught.value).splitlines()) == [
        f"{tmp_path}/more.yaml:2:11",
        f"{path}:4:11",
    ]
    unset = unset_variables(texts(path), {"SHOP": "s"})
    assert [(d.file, d.line) for d in unset] == [(f"{tmp_path}/more.yaml", 2)]
