"""A line of the audit as its operator would write it: the command, whole, to be pasted back."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from router.legible import exact
from router.model.operations import Audit

_TIMES = ("since", "until")
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_PER = (("s", 1), ("m", 60), ("h", 3_600))
_WAYS = {"page": "page", "api": "API", "command": "command line"}

Asked = Mapping[str, Any]
Words = tuple[str, Iterator[str], Iterable[str]]
"""The command's name, its options, and what stands behind them."""


def origin(line: Audit) -> str:
    """From where it was asked, and by which way."""
    way = None if line.way is None else _WAYS[line.way]
    return " ".join(filter(None, (way, line.peer))) or "-"


def command(line: Audit) -> str | None:
    """
    The command line that asks the same, quoted for a shell; None: there is none. A selection shows
    its plan and asks first, as ever; a replay has its ID, so the same again makes nothing twice.
    """
    if (write := _COMMANDS.get(line.verb)) is None:
        return None
    name, options, rest = write(line.asked)
    if line.verb == "replay":
        options = chain(options, _options({"as": line.id}))
    arguments = list(rest)
    dashes = ["--"] if any(word.startswith("-") for word in arguments) else []
    return shlex.join(["router", *name.split(), *options, *dashes, *arguments])


def asked_words(line: Audit) -> str:
    """The command; of what no command asks, what was asked by name."""
    if (found := command(line)) is not None:
        return found
    return " ".join(f"{name} {_text(value)}" for name, value in line.asked.items()) or "-"


def asked_json(line: Audit) -> dict[str, Any]:
    """The line as JSON values, its times as in the selector that they are."""
    line_json = msgspec.structs.asdict(line)
    asked: dict[str, Any] = {n: _option(n, v) for n, v in line.asked.items()}
    if isinstance(asked.get("selector"), dict):
        asked["selector"] = {n: _option(n, v) for n, v in asked["selector"].items()}
    return {**line_json, "at": exact(line.at), "asked": asked, "command": command(line)}


def _of_jobs(name: str) -> Callable[[Asked], Words]:
    return lambda asked: (name, _options(asked.get("selector", {})), asked.get("ids", ()))


def _replay(asked: Asked) -> Words:
    flags = {name: asked.get(name) for name in ("recorded", "again")}
    rate = {"rate": rate_text(asked.get("rate"))}
    chosen = asked.get("selector", {})
    return "replay", chain(_options(chosen), _options({**rate, **flags})), asked.get("ids", ())


def _of_target(name: str) -> Callable[[Asked], Words]:
    return lambda asked: (
        f"targets {name}", _options({"reason": asked.get("reason") or None}), [asked["target"]]
    )  # fmt: skip


def _prune(asked: Asked) -> Words:
    older = asked.get("older_than")
    return "store prune", _options({"older-than": None if older is None else _age(older)}), ()


def _new_token(asked: Asked) -> Words:
    role = {"role": asked.get("role", "viewer")}
    hidden = {"no-bodies": not asked.get("bodies", True), "until": asked.get("until")}
    return "token new", _options({**role, **hidden}), [asked["name"]]


def _revoke_token(asked: Asked) -> Words:
    return "token revoke", _options({}), [asked["name"]]


def _recover(asked: Asked) -> Words:
    return "recover", _options({"since": asked.get("since")}), [asked["endpoint"]]


def _backup(asked: Asked) -> Words:
    return "store backup", _options({}), [asked["path"]]


_COMMANDS: Mapping[str, Callable[[Asked], Words]] = {
    "replay": _replay,
    "cancel": _of_jobs("cancel"),
    "revive": _of_jobs("revive"),
    "pause_target": _of_target("pause"),
    "resume_target": _of_target("resume"),
    "resume": lambda _asked: ("resume", iter(()), ()),
    "prune": _prune,
    "new_token": _new_token,
    "revoke_token": _revoke_token,
    "recover": _recover,
    "backup": _backup,
}


def rate_text(rate: float | None) -> str:
    """Jobs a second as `--rate` takes them: in whole numbers where that is the same."""
    if rate is None:
        return "none"
    for unit, seconds in _PER:
        number = round(rate * seconds)
        if number and number / seconds == rate:
            return f"{number}/{unit}"
    return f"{rate!r}/s"


def _options(given: Asked) -> Iterator[str]:
    """Options with their values; None and False are not given."""
    for name, value in given.items():
        if value is True:
            yield f"--{name}"
        elif name == "var" and value:
            yield from chain.from_iterable(("--var", _bound(*one)) for one in value.items())
        elif value is not None and value is not False:
            text = _text(_option(name, value))
            yield from (f"--{name}={text}",) if text.startswith("-") else (f"--{name}", text)


def _age(milliseconds: int) -> str:
    unit, size = next((u, ms) for u, ms in _UNITS if milliseconds % ms == 0)
    return f"{milliseconds // size}{unit}"


def _option(name: str, value: Any) -> Any:
    return exact(value) if name in _TIMES and isinstance(value, int) else value


def _bound(name: str, value: object) -> str:
    return f"{name}={value}" if isinstance(value, str) else f"{name}:={_text(value)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
