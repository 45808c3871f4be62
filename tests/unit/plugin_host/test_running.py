"""One call, within this process: functions, arguments, exceptions, hashes."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.plugin_host.finding import BadReference, Loader, find, open_folder
from router.plugin_host.running import REASON_MAX, TRACE_MAX, run
from router.plugin_host.wire import CallFrame, Ended, decode_request, frame

Write = Callable[[str], str]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A plugins folder that is importable for one test."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    path, hooks, modules = list(sys.path), list(sys.path_hooks), set(sys.modules)
    open_folder(str(plugins))
    yield plugins
    sys.path[:], sys.path_hooks[:] = path, hooks
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    Loader.hashes.clear()


def _request(call: str, **changes: Any) -> CallFrame:
    values: dict[str, Any] = {
        "turn": 7,
        "call": call,
        "event": {"payload": {"total": 1}, "attempt": 3},
        "args": {},
        "secrets": {},
        "env": {},
    }
    return decode_request(msgspec.json.encode({**values, **changes}))


def _run(folder: Path, source: str, **changes: Any) -> Ended:
    (folder / "tried.py").write_text("from router.plugin import *\n" + source)
    return run(_request("tried:f", **changes), lambda _: None, str(folder))


def test_fractions_arrive_as_decimals() -> None:
    text = (
        b'{"turn":1,"call":"a:b","event":{"payload":1.50},"args":{"x":2.0},"secrets":{},"env":{}}'
    )
    request = decode_request(text)
    assert str(request.event.payload) == "1.50"
    assert request.args == {"x": Decimal("2.0")}


def test_a_frame_is_its_length_and_json() -> None:
    assert frame({"a": Decimal("1.50")}) == b"\0\0\0\x0a" + b'{"a":1.50}'


REFUSED = "from router.errors import EgressRefused; raise EgressRefused"


@pytest.mark.parametrize("word", ["", "async "])
def test_plain_and_async_functions(folder: Path, word: str) -> None:
    source = f"{word}def f(event, context, *, x): return [event.payload, context.attempt, x]"
    ended = _run(folder, source, args={"x": "hi"})
    assert (ended.kind, bytes(ended.value)) == ("done", b'[{"total":1},3,"hi"]')


def test_the_hash_is_of_the_text_that_ran(folder: Path) -> None:
    file = folder / "tried.py"
    for source in ("def f(e, c): return 1\n", "def f(e, c): return 2\n"):
        file.write_text(source)
        sys.modules.pop("tried", None)
        received: list[str] = []
        ended = run(_request("tried:f"), received.append, str(folder))
        assert received == [hashlib.sha256(source.encode()).hexdigest()]
        assert bytes(ended.value).decode() == source.strip()[-1]
    assert not (folder / "__pycache__").exists()


def test_packages_and_modules_beside(folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").write_text("from shop.inner import f\nfrom side import y\n")
    (folder / "shop" / "inner.py").write_text("def f(e, c): return 'inner'\n")
    (folder / "side.py").write_text("y = 1\n")
    for call in ("shop:f", "shop.inner:f"):
        ended = run(_request(call), lambda _: None, str(folder))
        assert bytes(ended.value) == b'"inner"'


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        ("raise Retry(after=5, reason='busy')", "retry", "busy"),
        ("raise Fail('no order')", "fail", "no order"),
        ("raise ExceptionGroup('x', [Retry(), Fail('both')])", "fail", "both"),
        (f"{REFUSED}('10.0.0.1', 'is private', lasting=True)", "fail", "10.0.0.1 is private"),
        (f"{REFUSED}('vm', 'is private', lasting=False)", "error", "vm is private"),
        ("raise ValueError('bad\\nthing')", "error", "ValueError: bad thing"),
        ("raise SystemExit(0)", "error", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
        ("raise BaseException('deep')", "error", "BaseException: deep"),
        ("f(event, context)", "error", "RecursionError: maximum"),
        ("return {1}", "error", "the result is a set"),
        ("raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})", "error", "E"),
    ],
)
def test_whatever_is_raised(folder: Path, body: str, kind: str, reason: str) -> None:
    ended = _run(folder, f"def f(event, context):\n    {body}\n")
    assert (ended.kind, ended.turn) == (kind, 7)
    assert ended.reason.startswith(reason)


def test_retry_says_when(folder: Path) -> None:
    ended = _run(folder, "async def f(event, context): raise Retry(after=5)")
    assert ended.after == 5


def test_the_traceback_begins_in_the_plugin_and_is_bounded(folder: Path) -> None:
    ended = _run(folder, "def g():\n    1 / 0\nasync def f(event, context):\n    g()\n")
    lines = ended.trace.splitlines()
    assert "tried.py" in lines[1]
    assert "plugin_host" not in ended.trace
    assert lines[-1] == "ZeroDivisionError: division by zero"
    sys.modules.pop("tried")
    ended = _run(folder, "def f(event, context): raise ValueError('x' * 100_000)")
    assert len(ended.trace) == TRACE_MAX
    assert len(ended.reason) <= REASON_MAX + len("ValueError: ")


def test_only_what_may_have_harmed_the_process_spoils_it(folder: Path) -> None:
    assert not _run(folder, "def f(event, context): 1 / 0").spoilt
    sys.modules.pop("tried")
    assert _run(folder, "def f(event, context): raise SystemExit").spoilt


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(:", "SyntaxError"),
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("g = 1", "the module 'tried' has no function 'f'"),
        ("f = 1", "the module 'tried' has no function 'f'"),
        ("def f(event): pass", "TypeError"),
    ],
)
def test_modules_that_cannot_be_used(folder: Path, source: str, reason: str) -> None:
    ended = _run(folder, source)
    assert ended.kind == "error"
    assert ended.reason.startswith(reason)


def test_a_plugin_that_is_not_there(folder: Path) -> None:
    with pytest.raises(BadReference, match="no plugin 'nothing'"):
        find("nothing:f", str(folder))


@pytest.mark.parametrize("call", ["acme:f", "acme-f"])
def test_entry_points(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    site = tmp_path / "site"
    info = site / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    points = "[router.plugins]\nacme = acme_router.parts\nacme-f = acme_router.parts:f\n"
    (info / "entry_points.txt").write_text(points)
    (site / "acme_router").mkdir()
    (site / "acme_router" / "__init__.py").write_text("")
    source = "def f(event, context): return 'installed'\n"
    (site / "acme_router" / "parts.py").write_text(source)
    monkeypatch.syspath_prepend(str(site))
    function, module = find(call, str(folder))
    assert function(None, None) == "installed"
    assert module == hashlib.sha256(source.encode()).hexdigest()


def test_a_context_gives_only_the_named_secrets(folder: Path) -> None:
    source = "def f(event, context): return dict(context.secrets)"
    assert bytes(_run(folder, source, secrets={"a": "b"}).value) == b'{"a":"b"}'


def test_leftover_tasks_are_ended_with_the_call(folder: Path) -> None:
    source = (
        "import asyncio\nended = []\n"
        "async def late():\n    try: await asyncio.sleep(60)\n    finally: ended.append(1)\n"
        "tasks = []\n"
        "async def f(event, context):\n"
        "    tasks.append(asyncio.create_task(late())); await asyncio.sleep(0)\n"
    )
    assert _run(folder, source).kind == "done"
    assert sys.modules["tried"].ended == [1]
