"""Two deliveries, or two attempts, side by side: where they differ."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

import msgspec
from litestar import Controller

from router.errors import NotFound, UsageError
from router.expressions import JSON, NotJson, decode_json, encode_json
from router.expressions.changes import changes, quoted_step
from router.legible import cut, pretty
from router.model.delivery import full_name
from router.model.headers import joined_headers
from router.model.packed import plain_body
from router.store.values import DeliveryRecord
from router.structure import too_complex
from router.web.admin.query import QueryParameter
from router.web.admin.request import Given
from router.web.pages.context import PageContext
from router.web.pages.request import Shown, page

BODY_MAX = 262_144
DIFFERENCES_SHOWN = 300
VALUE_SHOWN = 4_000
LINES_MAX = 600
"""Lines of two texts that are held against each other: it takes the product of both in steps."""

_ASKED = QueryParameter("id", "Two deliveries, two jobs, or attempts of jobs as JOB/NUMBER.")


class ComparedSide(msgspec.Struct, frozen=True):
    """One of the two: its title and a short one, the page of its own, and what is compared."""

    title: str
    short: str
    link: str
    at: int
    value: dict[str, JSON]


class LinePair(msgspec.Struct, frozen=True):
    """A line of one text beside that of the other; None: that one has none there."""

    left: str | None
    right: str | None

    @property
    def same(self) -> bool:
        return self.left == self.right


class ValueDifference(msgspec.Struct, frozen=True):
    """One place where the sides differ; None: it is not there. Two texts have their `lines`."""

    path: str
    left: str | None
    right: str | None
    lines: tuple[LinePair, ...] = ()


class ComparePages(Controller):
    """Two of a kind."""

    @page("/compare", payloads=True)
    async def compare(self, context: Given[PageContext]) -> Shown:
        """Where two deliveries or attempts differ."""
        asked = list(filter(None, (context.query(_ASKED).text("id") or "").split(",")))
        if len(asked) != 2:
            raise UsageError(f"two are compared, not {len(asked)}: tick two")
        if len({one.startswith("job_") for one in asked}) != 1:
            raise UsageError("a delivery and a job are not compared: tick two of a kind")
        left, right = [await _side(context, one) for one in asked]
        found = list(islice(differences(left.value, right.value), DIFFERENCES_SHOWN + 1))
        return context.page(
            "compare.html",
            sides=(left, right),
            differences=found[:DIFFERENCES_SHOWN],
            more=len(found) > DIFFERENCES_SHOWN,
        )


async def _side(context: PageContext, written: str) -> ComparedSide:
    if written.startswith("job_"):
        return await _attempt(context, written)
    record = await context.questions.record(written)
    d = record.delivery
    return ComparedSide(
        d.id, f"…{d.id[-4:]}", f"/deliveries/{d.id}", d.received_at, delivery_value(record)
    )


async def _attempt(context: PageContext, written: str) -> ComparedSide:
    """An attempt by its number, or a job's last one. Raises NotFound."""
    id_, _, number = written.partition("/")
    found = await context.questions.job(id_)
    chosen = [a for a in found.attempts if number in ("", str(a.number))]
    if not chosen:
        raise NotFound(f"{id_} has no attempt {number or 'that has ended'}")
    one = chosen[-1]
    result = one.result if isinstance(one.result, dict) else {"result": one.result}
    if "json" in result:
        result = {name: value for name, value in result.items() if name != "text"}
    value = {
        "rule": found.job.rule,
        "action": found.job.action,
        "outcome": one.outcome,
        "reason": one.reason,
        "milliseconds": one.ended_at - one.started_at,
        **result,
    }
    job = found.job.id
    title, short = f"{job}, attempt {one.number}", f"…{job[-4:]}/{one.number}"
    return ComparedSide(title, short, f"/jobs/{job}", one.started_at, value)


def delivery_value(record: DeliveryRecord) -> dict[str, JSON]:
    """What of a delivery is compared, by the roots of a rule where there is one."""
    d = record.delivery
    named: list[JSON] = [full_name(event.name, event.action) for event in record.events]
    return {
        "endpoint": d.endpoint,
        "events": named,
        "state": d.state,
        "verified by": d.verified_by,
        "method": d.method,
        "path": d.path,
        "query": d.query,
        "headers": dict(joined_headers(d.headers)),
        "payload": _payload(plain_body(d, BODY_MAX)),
    }


def _payload(body: bytes) -> JSON:
    if len(body) > BODY_MAX:
        return f"{len(body)} bytes: too many to compare"
    try:
        return pretty(body) if too_complex(body) else decode_json(body)
    except NotJson:
        return pretty(body)


def differences(left: JSON, right: JSON) -> Iterator[ValueDifference]:
    """Where two values differ, in the order of the left one."""
    for change in changes(left, right, step=quoted_step):
        sides = (change.old, change.new)
        if all(isinstance(one, str) and "\n" in one for one in sides):
            yield ValueDifference(change.path, "", "", tuple(line_pairs(*map(str, sides))))
        else:
            old = None if change.added else _text(change.old)
            yield ValueDifference(change.path, old, None if change.removed else _text(change.new))


def _text(value: Any) -> str:
    return cut(value if isinstance(value, str) else encode_json(value).decode(), VALUE_SHOWN)


def line_pairs(left: str, right: str) -> Iterator[LinePair]:
    """The lines of two texts, those that are the same beside each other."""
    sides = left.split("\n")[:LINES_MAX], right.split("\n")[:LINES_MAX]
    for _, i, i_end, j, j_end in SequenceMatcher(None, *sides).get_opcodes():
        for offset in range(max(i_end - i, j_end - j)):
            at, beside = i + offset, j + offset
            yield LinePair(
                sides[0][at] if at < i_end else None, sides[1][beside] if beside < j_end else None
            )
