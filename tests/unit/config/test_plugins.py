"""Calls of plugins, checked by parsing."""

import sys
from pathlib import Path

import pytest

from router.config import Loaded, load
from router.errors import Diagnostic
from router.kinds.python import PythonSpec
from router.model.retry import NONE, SHORT

HEAD = """version: 1
secrets:
  chat: {env: CHAT}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
rules:
"""
PLUGIN = """
import json as codec
raise SystemExit("a check never runs a plugin")

async def notify(event, context, *, text, channel="general"): ...
def anything(event, context, **args): ...
def several(*args): ...
def positional(event, context, text): ...
def only_event(event): ...
@codec.decorated
def decorated(event): ...
if True:
    def within(event, context): ...
alias = notify
class Tool:
    @staticmethod
    def run(event, context): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plugins" / "parts").mkdir(parents=True)
    (tmp_path / "plugins" / "deskwork.py").write_text(PLUGIN)
    (tmp_path / "plugins" / "parts" / "__init__.py").write_text("def f(event, context): ...")
    (tmp_path / "plugins" / "parts" / "inner.py").write_text("def g(event, context): ...")
    (tmp_path / "plugins" / "broken.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "plugins" / "json.py").write_text("def f(event, context): ...")
    (tmp_path / "plugins" / "msgspec.py").write_text("def f(event, context): ...")
    return tmp_path


def loaded(folder: Path, action: str, rest: str = "") -> Loaded:
    rules = f"  - {{id: a, from: shop, actions: {{python: {action}{rest}}}}}\n"
    return load(HEAD + rules, path=str(folder / "rules.yaml"), env={})


def said(folder: Path, action: str) -> list[Diagnostic]:
    return [d for d in loaded(folder, action).diagnostics if d.code != "unused-secret"]


@pytest.mark.parametrize(
    "action",
    [
        "{call: 'deskwork:notify', args: {text: hi}}",
        "{call: 'deskwork:notify', args: {text: '{{ payload.name }}', channel: x}}",
        "{call: 'deskwork:anything', args: {whatever: 1}}",
        "{call: 'deskwork:several', args: {}}",
        "{call: 'deskwork:positional', args: {text: hi}}",
        "{call: 'deskwork:decorated', args: {text: hi}}",
        "{call: 'deskwork:within'}",
        "{call: 'deskwork:alias', args: {no: one, can: know}}",
        "{call: 'deskwork:Tool.run'}",
        "{call: 'parts:f'}",
        "{call: 'parts.inner:g'}",
    ],
)
def test_calls_that_fit(folder: Path, action: str) -> None:
    assert said(folder, action) == []


@pytest.mark.parametrize(
    ("action", "code", "words", "hint"),
    [
        ("{call: 'deskwrk:f'}", "unknown-plugin", "'deskwrk'", "did you mean 'deskwork'?"),
        ("{call: 'quite:else'}", "unknown-plugin", "'quite'", "known: broken, deskwork"),
        ("{call: 'deskwork:notfy'}", "unknown-plugin-function", "'notfy'", "mean 'notify'?"),
        ("{call: 'deskwork:zzz'}", "unknown-plugin-function", "'zzz'", "functions there: notify"),
        ("{call: deskwork}", "bad-plugin-call", "no function", "write deskwork:FUNCTION"),
        ("{call: 'desk work:f'}", "bad-plugin-call", "MODULE:FUNCTION", None),
        ("{call: '../deskwork:f'}", "bad-plugin-call", "MODULE:FUNCTION", None),
        ("{call: 'broken:f'}", "plugin-unreadable", "broken.py cannot be read: line 2", None),
        ("{call: 'json:f'}", "plugin-name-taken", "of Python itself", "another name"),
        ("{call: 'msgspec:f'}", "plugin-name-taken", "an installed module", "another name"),
        ("{call: 'deskwork:notify'}", "plugin-arguments", "needs 'text'", None),
        ("{call: 'deskwork:positional'}", "plugin-arguments", "needs 'text'", None),
        ("{call: 'deskwork:only_event'}", "plugin-arguments", "an event and a context", "def only"),
        (
            "{call: 'deskwork:notify', args: {text: hi, chanel: x}}",
            "plugin-arguments",
            "no argument 'chanel'",
            "did you mean 'channel'?",
        ),
        ("{args: {}}", "missing-key", "call", None),
        ("{call: 'parts:f', secrets: [chet]}", "unknown-secret", "chet", "did you mean 'chat'?"),
        ("{call: 'parts:f', args: {a: '{{ secret.chat }}'}}", "root-not-here", "secret", None),
        ("{call: 'parts:f', timeout: 0s}", "bad-value", "timeout", None),
    ],
)
def test_calls_that_do_not(
    folder: Path, action: str, code: str, words: str, hint: str | None
) -> None:
    found = {d.code: d for d in said(folder, action)}
    assert code in found
    assert words in found[code].message
    if hint is not None:
        assert hint in (found[code].hint or "")


def test_the_caret_stands_under_the_wrong_argument(folder: Path) -> None:
    action = "{call: 'deskwork:notify', args: {text: hi, chanel: x}}"
    (found,) = said(folder, action)
    assert found.source is not None
    assert found.source[found.column - 1 :].startswith("chanel")


def test_defaults(folder: Path) -> None:
    ruleset = loaded(folder, "{call: 'parts:f', secrets: chat}").ruleset
    assert ruleset is not None
    (action,) = ruleset.rules[0].actions
    assert (action.kind, action.id, action.target) == ("python", "python", "a/python")
    assert action.retry is SHORT
    assert action.spec == PythonSpec("parts:f", {}, ("chat",), str(folder), 60.0)


def test_its_own_retry_and_timeout(folder: Path) -> None:
    ruleset = loaded(folder, "{call: 'deskwork:within', timeout: 2s}, retry: none").ruleset
    assert ruleset is None or ruleset.rules[0].actions[0].retry is NONE


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = folder / "site"
    info = site / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    points = "acme = acme_router.parts\nacme-f = acme_router.parts:f\ngone = nowhere.at_all:f\n"
    (info / "entry_points.txt").write_text(f"[router.plugins]\n{points}")
    package = site / "acme_router"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('a check never imports')")
    (package / "parts.py").write_text("def f(event, context, *, text): ...")
    monkeypatch.syspath_prepend(str(site))
    return folder


@pytest.mark.parametrize(
    ("action", "codes"),
    [
        ("{call: 'acme:f', args: {text: hi}}", []),
        ("{call: acme-f, args: {text: hi}}", []),
        ("{call: 'acme:f'}", ["plugin-arguments"]),
        ("{call: acme-f}", ["plugin-arguments"]),
        ("{call: 'acme:g'}", ["unknown-plugin-function"]),
        ("{call: acme}", ["bad-plugin-call"]),
        ("{call: gone}", []),
    ],
)
def test_entry_points(installed: Path, action: str, codes: list[str]) -> None:
    assert [d.code for d in said(installed, action)] == codes
    assert "acme_router" not in sys.modules
