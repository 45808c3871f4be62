"""Pages of work: jobs, dead ones by cause, replays, and the plan of one before it is made."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from litestar import Controller
from litestar.params import FromPath

from router.errors import NotFound, UsageError
from router.model.job import OPEN
from router.operator import By
from router.store.values import Selector
from router.web.admin.answers import Jobs
from router.web.admin.asking import (
    CURSOR,
    DELIVERY_STATES,
    JOB_STATES,
    LIMIT,
    SELECTOR,
    STATE,
    WHERE,
    QueryParameter,
)
from router.web.admin.hiding import hidden_attempt, hidden_job
from router.web.admin.request import Given
from router.web.pages import shown
from router.web.pages.context import SELECTED, PageContext, selector_body
from router.web.pages.request import Shown, action, page, see_other

REPLAYS_SHOWN = 50
_LIST = (*SELECTOR, WHERE, STATE, LIMIT, CURSOR)
_PLAN = (
    QueryParameter("verb", "`revive` or `cancel`; else a replay."),
    QueryParameter("again", "`yes`: also what has been replayed already."),
)
_VERBS = ("replay", "revive", "cancel")


Act = Callable[[dict[str, Any], By], Awaitable[dict[str, Any]]]


def _fits(verb: str, state: str | None) -> bool:
    """Whether a verb may change jobs in this state, or deliveries."""
    if state is None or verb == "replay":
        return True
    return state == "dead" if verb == "revive" else state in OPEN


class JobPages(Controller):
    """Jobs, and what is done with many of them."""

    @page("/jobs")
    async def list(self, context: Given[PageContext]) -> Shown:
        """Jobs by a selector; a wrong one is said beside the form that has it."""
        error, found, asked = None, Jobs(()), {}
        try:
            query = context.query(*_LIST)
            asked = {n: t for n in ("id", *SELECTED) if (t := query.text(n)) is not None}
            before = query.cursor("jobs", str)
            found = await context.reading.jobs(query.selector(JOB_STATES), before)
        except (UsageError, NotFound) as wrong:
            error = str(wrong)
        jobs = found.jobs if context.bodies else tuple(map(hidden_job, found.jobs))
        return context.page(
            "jobs.html",
            400 if error else 200,
            jobs=jobs,
            asked={name: asked.get(name, "") for name in ("id", *SELECTED)},
            error=error,
            cut=found.cut,
            states=JOB_STATES,
            names=context.names(),
            more=urlencode({**asked, "cursor": found.next}) if found.next else None,
            plan=urlencode({n: v for n, v in asked.items() if n != "id"}),
        )

    @page("/jobs/{job:str}")
    async def one(self, context: Given[PageContext], job: FromPath[str]) -> Shown:
        """A job with its attempts, and what it writes while it runs."""
        found, bodies = await context.reading.job(job), context.bodies
        one, attempts = found.job, found.attempts
        if not bodies:
            one, attempts = hidden_job(one), tuple(map(hidden_attempt, attempts))
        whole = shown.shown_job(one, attempts, bodies=bodies, last=50, most=shown.RESULT_MAX)
        running = one.state == "running" and bodies
        output = context.operator.output(one.id, "") if running else {"running": False}
        return context.page(
            "job.html", job=one, shown=whole, output=output, open=one.state in OPEN,
            name=context.name(),
        )  # fmt: skip

    @action("/jobs/{job:str}/{verb:str}")
    async def change(
        self, context: Given[PageContext], job: FromPath[str], verb: FromPath[str]
    ) -> Shown:
        """Replay, revive or cancel one job."""
        ids = {"ids": [job]}
        if verb == "replay":
            body = {**ids, **context.replay_of()}
            done = await context.operator.replay(body, context.by)
            return see_other(f"/replays/{done['id']}")
        await _verb(context, verb)(ids, context.by)
        return see_other(f"/jobs/{job}")

    @page("/dead")
    async def dead(self, context: Given[PageContext]) -> Shown:
        """Dead jobs by what they died of."""
        query = context.query(*SELECTOR, LIMIT)
        found = await context.reading.dead(query.selector())
        causes = [
            (c, c.reason if context.bodies else c.reason.partition(":")[0]) for c in found.causes
        ]
        return context.page("dead.html", causes=causes)

    @page("/plan", access="operator")
    async def plan(self, context: Given[PageContext]) -> Shown:
        """What a verb would do. Nothing is done by looking."""
        query = context.query(*SELECTOR, WHERE, STATE, *_PLAN)
        chosen = query.selector((*DELIVERY_STATES, *JOB_STATES))
        asked: dict[str, Any] = {n: v for n in SELECTED if (v := getattr(chosen, n)) is not None}
        selector_body({n: str(v) for n, v in asked.items()})
        verb = query.text("verb") or "replay"
        body: dict[str, Any] = {"selector": asked, "dry_run": True}
        form: dict[str, str] = {}
        if verb == "replay":
            form["name"] = context.name()
            if query.text("again") == "yes":
                form["again"] = "yes"
                body["again"] = True
        planned = await _verb(context, verb)(body, context.by)
        if planned["until"] is not None:
            form["until"] = planned["until"]
        others = [one for one in _VERBS if one != verb and _fits(one, asked.get("state"))]
        return context.page(
            "plan.html", asked=asked, verb=verb, planned=planned, fields={**asked, **form},
            dead=asked.get("state") == "dead" or "cause" in asked,
            others=[(one, urlencode({**asked, "verb": one})) for one in others],
            again_query=urlencode({**asked, "again": "yes"}),
        )  # fmt: skip

    @action("/plan/{verb:str}")
    async def make(self, context: Given[PageContext], verb: FromPath[str]) -> Shown:
        """What was planned."""
        body: dict[str, Any] = {"selector": selector_body(dict(context.form))}
        if verb == "replay":
            body |= context.replay_of()
            done = await context.operator.replay(body, context.by)
            return see_other(f"/replays/{done['id']}")
        done = await _verb(context, verb)(body, context.by)
        return context.page("done.html", done=done)

    @page("/replays")
    async def replays(self, context: Given[PageContext]) -> Shown:
        """The newest."""
        found = await context.reading.replays(REPLAYS_SHOWN)
        return context.page("replays.html", replays=found.replays)

    @page("/replays/{replay:str}")
    async def replay_of(self, context: Given[PageContext], replay: FromPath[str]) -> Shown:
        """One, and what it made."""
        found = await context.reading.replay(replay)
        made = await context.reading.jobs(Selector(replay=found.id, limit=50))
        jobs = made.jobs if context.bodies else tuple(map(hidden_job, made.jobs))
        return context.page("replay.html", replay=found, jobs=jobs, more=made.next)


def _verb(context: PageContext, verb: str) -> Act:
    """What does it. Raises NotFound."""
    if verb not in _VERBS:
        raise NotFound("there is no such page")
    operator = context.operator
    acts: dict[str, Act] = {
        "replay": operator.replay,
        "revive": operator.revive,
        "cancel": operator.cancel,
    }
    return acts[verb]
