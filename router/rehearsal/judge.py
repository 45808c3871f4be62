"""Expected against seen: a line for each difference."""

from collections.abc import Iterator, Mapping
from typing import Any

from router.expressions import NotJson, decode_json, encode_json
from router.expressions.compare import same
from router.model.call import Call, HttpCall, LogCall, PythonCall, ShellCall
from router.model.trial import ActionKey, ExpectedCall, Trial
from router.rehearsal.seen import Seen
from router.rehearsal.why import why_not
from router.rules.live import Live

SHOWN_MAX = 200
NOTHING = object()
_SUBSETS = frozenset({"headers", "json", "env", "args"})


def failures(trial: Trial, seen: Seen, live: Live) -> tuple[str, ...]:
    """Everything that is not as expected, in the order of the keys of `expect`."""
    expect = trial.expect
    lines = list(_statuses(expect.status, seen))
    for word, names, came in (
        ("matched", expect.matched, seen.matched),
        ("shadow", expect.shadow, seen.shadow),
    ):
        if names is not None:
            lines += _rules(word, names, set(came), seen, live)
    for key, call in expect.calls.items():
        lines += _calls(key, call, seen)
    if expect.dead is not None:
        lines += _dead(expect.dead, seen)
    return tuple(lines)


def _statuses(expected: tuple[int, ...] | None, seen: Seen) -> Iterator[str]:
    if expected is None:
        return
    came = seen.statuses
    wanted = list(expected) * len(came) if len(expected) == 1 else list(expected)
    if wanted == came:
        return
    alike = len(set(wanted)) == len(set(came)) == 1
    why = f" ({', '.join(dict.fromkeys(seen.refusals))})" if seen.refusals else ""
    left, right = (wanted[0], came[0]) if alike else (wanted, came)
    yield f"status: expected {left}, came {right}{why}"


def _rules(
    word: str, expected: frozenset[str], came: set[str], seen: Seen, live: Live
) -> Iterator[str]:
    if expected == came:
        return
    yield f"{word}: expected {_listed(expected)}, came {_listed(came)}"
    for rule in live.ruleset.rules:
        if rule.id in expected - came:
            for reason in why_not(rule, seen, live):
                yield f"  {rule.id}: {reason}"


def _dead(expected: frozenset[ActionKey], seen: Seen) -> Iterator[str]:
    came = set(seen.dead)
    if expected == came:
        return
    names = _listed({_key(k) for k in expected}), _listed({_key(k) for k in came})
    yield f"dead: expected {names[0]}, came {names[1]}"
    for key in sorted(came - expected):
        yield f"  {_key(key)}: {_cut(seen.dead[key])}"


def _calls(key: ActionKey, expected: ExpectedCall, seen: Seen) -> Iterator[str]:
    calls = seen.calls.get(key, [])
    place = f"calls.{_key(key)} (line {expected.line})"
    wanted = "at least 1" if expected.times is None else str(expected.times)
    if (expected.times is None and not calls) or expected.times not in (None, len(calls)):
        dead = f"; the job is dead: {_cut(seen.dead[key])}" if key in seen.dead else ""
        yield f"{place}: times: expected {wanted}, came {len(calls)}{dead}"
    told: set[str] = set()
    for number, call in enumerate(calls, 1):
        for line in _differences(call, expected.fields):
            if line not in told:
                yield f"{place}: {f'call {number}: ' if len(calls) > 1 else ''}{line}"
            told.add(line)


def _differences(call: Call, fields: Mapping[str, Any]) -> Iterator[str]:
    for name, expected in fields.items():
        came = _field(call, name)
        if name == "headers":
            expected = {k.lower(): v for k, v in expected.items()}  # noqa: PLW2901
        yield from _compared(name, expected, came, subset=name in _SUBSETS)


def _field(call: Call, name: str) -> Any:
    """One part of a call as the file would write it; its secrets are invented."""
    match call:
        case HttpCall():
            if name == "json":
                return _json(call.body)
            found = {"method": call.method, "url": call.url, "headers": dict(call.headers)}
            return found[name]
        case ShellCall():
            stdin = None if call.stdin is None else call.stdin.decode("utf-8", "replace")
            return {"argv": list(call.argv), "env": call.env, "stdin": stdin}[name]
        case PythonCall():
            return call.args
        case LogCall():
            return call.message


def _json(body: bytes) -> Any:
    try:
        return decode_json(body)
    except NotJson:
        return body.decode("utf-8", "replace")


def _compared(path: str, expected: Any, came: Any, *, subset: bool) -> Iterator[str]:
    """A line for each place where they differ; keys that are not expected do not count."""
    if subset and isinstance(expected, dict) and isinstance(came, dict):
        for name, value in expected.items():
            yield from _compared(f"{path}.{name}", value, came.get(name, NOTHING), subset=True)
    elif isinstance(expected, list) and isinstance(came, list) and len(expected) == len(came):
        for i, (left, right) in enumerate(zip(expected, came, strict=True)):
            yield from _compared(f"{path}[{i}]", left, right, subset=subset)
    elif came is NOTHING or not same(expected, came):
        yield f"{path}: expected {_shown(expected)}, came {_shown(came)}"


def _shown(value: Any) -> str:
    return "nothing" if value is NOTHING else _cut(encode_json(value).decode("utf-8"))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"


def _listed(names: frozenset[str] | set[str]) -> str:
    return f"[{', '.join(sorted(names))}]"


def _key(key: ActionKey) -> str:
    return "/".join(key)
