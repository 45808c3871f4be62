"""
What `serve` shows on a terminal: one line a delivery, one for each action as it ends.

    12:30:01  shop        orders/paid             accepted   large-orders  2.4 ms  dlv_01J…
    12:30:01  shop        orders/paid               ok       large-orders/http 200  31 ms
    12:30:02  shop        -                       refused    bad_signature, from 203.0.113.9

Anything else keeps the plain form of `router.log`. JSON lines do not come this way.
"""

from collections.abc import Callable, Mapping
from typing import Any

from router import log as logs
from router.kinds import KINDS
from router.legible import cut
from router.log import visible
from router.metrics import Metrics
from router.model.job import ActionKind, Job, Settlement
from router.wiring.observers import DispatchObserver, Handlers, IntakeObserver

WORD_MAX = 120
MESSAGE_MAX = 1_000

_CODES = {"green": "32", "yellow": "33", "red": "31", "cyan": "36", "dim": "2"}

Fields = Mapping[str, Any]
Paint = Callable[[str, str], str]
"""(text, colour) to the text in that colour, or as it is."""


class TerminalObserver(DispatchObserver):
    """Logs every attempt, successes too, in as many words as a person wants to see."""

    def _log_success(self, job: Job, settlement: Settlement) -> None:
        if settlement.attempt.outcome == "dry":
            self._write("info", "dry", job, settlement)
        elif not KINDS[job.kind].local:  # its own line has been seen
            self._write("info", "ok", job, settlement)

    def _log_end(self, level: str, words: str, job: Job, settlement: Settlement) -> None:
        self._write(level, "dead" if words == "dead letter" else "failed", job, settlement)

    def _write(self, level: str, word: str, job: Job, settlement: Settlement) -> None:
        attempt, due = settlement.attempt, settlement.due_at
        reason = None if settlement.state == "succeeded" else settlement.reason or attempt.reason
        fields = {
            "job": job.id,
            "endpoint": job.endpoint,
            "name": job.event,
            "rule": job.rule,
            "action": job.action,
            "attempt": attempt.number,
            "result": _result(job.kind, attempt.result),
            "reason": reason,
            "again_in_s": None if due is None else max(0, round((due - attempt.ended_at) / 1000)),
            "ms": attempt.ended_at - attempt.started_at,
        }
        self._log.at(level, word, fields)


def counting_handlers(metrics: Metrics, *, human: bool) -> tuple[Handlers, ...]:
    """What counts and logs all that happens; `human`: in lines for a terminal."""
    lines = TerminalObserver if human else DispatchObserver
    return (
        lines(metrics, logs.get("dispatch")).handlers(),
        IntakeObserver(metrics, logs.get("intake"), logs.get("own")).handlers(),
    )


def _result(kind: ActionKind, result: Mapping[str, Any]) -> str | None:
    """The part of a result that says most: an HTTP status, an exit code."""
    facts = KINDS[kind].result
    return facts.shown.format(result[facts.code]) if facts.code and facts.code in result else None


def colours(environ: Mapping[str, str]) -> bool:
    """Whether a terminal is to show colour: not if NO_COLOR is set, or it has none."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def phrasing(*, colour: bool) -> Callable[[Fields], str | None]:
    """What `log.configure` asks for its lines."""

    def paint(text: str, shade: str) -> str:
        return f"\x1b[{_CODES[shade]}m{text}\x1b[0m" if text and colour else text

    def phrase(fields: Fields) -> str | None:
        logger = fields.get("logger", "")
        line = _logged if logger == "action" else _LINES.get((logger, fields.get("event", "")))
        if line is None or "exception" in fields:
            return None
        stamp = paint(str(fields.get("timestamp", ""))[11:19], "dim")
        return f"{stamp}  {line(fields, paint)}".rstrip()

    return phrase


def _delivery(fields: Fields, paint: Paint) -> str:
    verdict, state = _word(fields.get("verdict")), _word(fields.get("state"))
    rules = ", ".join(_word(r) for r in fields.get("rules") or ())
    outcome = {"routed": rules, "unmatched": "no rule matched"}.get(state, state)
    if verdict == "duplicate":
        outcome = "duplicate, nothing runs"
    shade = "green" if verdict == "accepted" and rules else "yellow"
    return _row(
        _where(fields, ", ".join(_word(e) for e in fields.get("events") or ()) or "-"),
        paint(f"{verdict:<9}", shade),
        cut(outcome, WORD_MAX),
        paint(f"{fields.get('ms')} ms  {_word(fields.get('delivery'))}", "dim"),
    )


def _refused(fields: Fields, paint: Paint) -> str:
    """With its status where the listener refused it: no such address, too large, too slow."""
    hint, status = fields.get("hint"), fields.get("status")
    why = f"{_word(status)} " * (status is not None) + _word(fields.get("reason"))
    more = f" ({_word(hint)})" if hint else ""
    reason = f"{why}{more}, from {_word(fields.get('peer'))}"
    return _row(_where(fields, "-"), paint(f"{'refused':<9}", "red"), reason)


def _rule_error(fields: Fields, paint: Paint) -> str:
    reason = f"the condition erred, so no match: {_word(fields.get('reason'))}"
    return _row(f"{_word(fields.get('rule')):<34}", paint(f"  {'error':<7}", "yellow"), reason)


def _ended(shade: str) -> Callable[[Fields, Paint], str]:
    def line(fields: Fields, paint: Paint) -> str:
        again, why = fields.get("again_in_s"), fields.get("reason") or fields.get("result")
        parts = [f"{_word(fields.get('rule'))}/{_word(fields.get('action'))}"]
        parts += [] if why is None else [_word(why)]
        if again is not None:
            parts.append(f"(attempt {fields.get('attempt')}, again in {again} s)")
        return _row(
            _where(fields, _word(fields.get("name"))),
            paint(f"  {_word(fields.get('event')):<7}", shade),
            " ".join(parts),
            paint(f"{fields.get('ms')} ms", "dim"),
        )

    return line


def _logged(fields: Fields, paint: Paint) -> str:
    shade = {"warning": "yellow", "error": "red"}.get(str(fields.get("level")), "cyan")
    message = cut(visible(str(fields.get("event", ""))), MESSAGE_MAX)
    return _row(f"{_word(fields.get('rule')):<34}", paint(f"  {'log':<7}", shade), message)


def _where(fields: Fields, events: str) -> str:
    return f"{_word(fields.get('endpoint') or '-'):<10}  {cut(events, WORD_MAX):<22}"


def _row(*cells: str) -> str:
    return "  ".join(cells)


def _word(value: Any) -> str:
    return cut(visible(str(value)), WORD_MAX)


_LINES: Mapping[tuple[str, str], Callable[[Fields, Paint], str]] = {
    ("intake", "delivery"): _delivery,
    ("intake", "refused"): _refused,
    ("intake", "turned away"): _refused,
    ("intake", "rule error"): _rule_error,
    ("dispatch", "ok"): _ended("green"),
    ("dispatch", "dry"): _ended("cyan"),
    ("dispatch", "failed"): _ended("yellow"),
    ("dispatch", "dead"): _ended("red"),
}
