"""Pages of work: jobs, dead ones by cause, replays, and the plan of one before it is made."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

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
from router.web.admin.call import RouteAnswer
from router.web.admin.hiding import hidden_attempt, hidden_job
from router.web.pages import shown
from router.web.pages.context import SELECTED, Desk, selector_body, unquoted
from router.web.pages.visit import PageView, Visit, see_other

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


class JobPages:
    """Handlers of these pages."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def views(self) -> list[PageView]:
        """Their rows of the table."""
        return [
            PageView("GET", "/jobs", "viewer", self._list),
            PageView("GET", "/jobs/{job}", "viewer", self._one),
            PageView("POST", "/jobs/{job}/{verb}", "operator", self._do),
            PageView("GET", "/dead", "viewer", self._dead),
            PageView("GET", "/plan", "operator", self._plan),
            PageView("POST", "/plan/{verb}", "operator", self._make),
            PageView("GET", "/replays", "viewer", self._replays),
            PageView("GET", "/replays/{replay}", "viewer", self._replay),
        ]

    async def _list(self, visit: Visit) -> RouteAnswer:
        error, found, asked = None, Jobs(()), {}
        try:
            query = self._desk.query(visit, *_LIST)
            asked = {n: t for n in ("id", *SELECTED) if (t := query.text(n)) is not None}
            unquoted(visit, query)
            before = query.cursor("jobs", str)
            found = await self._desk.reading.jobs(query.selector(JOB_STATES), before)
        except (UsageError, NotFound) as wrong:
            error = str(wrong)
        jobs = found.jobs if visit.bodies else tuple(map(hidden_job, found.jobs))
        return self._desk.page(
            "jobs.html",
            visit,
            400 if error else 200,
            jobs=jobs,
            asked={name: asked.get(name, "") for name in ("id", *SELECTED)},
            error=error,
            cut=found.cut,
            states=JOB_STATES,
            names=self._desk.names(),
            more=urlencode({**asked, "cursor": found.next}) if found.next else None,
            plan=urlencode({n: v for n, v in asked.items() if n != "id"}),
        )

    async def _one(self, visit: Visit) -> RouteAnswer:
        found = await self._desk.reading.job(visit.place["job"])
        job, attempts = found.job, found.attempts
        if not visit.bodies:
            job, attempts = hidden_job(job), tuple(map(hidden_attempt, attempts))
        whole = shown.shown_job(job, attempts, bodies=visit.bodies, last=50, most=shown.RESULT_MAX)
        running = job.state == "running" and visit.bodies
        output = self._desk.operator.output(job.id, "") if running else {"running": False}
        return self._desk.page(
            "job.html", visit, job=job, shown=whole, output=output, open=job.state in OPEN,
            name=self._desk.name(),
        )  # fmt: skip

    async def _do(self, visit: Visit) -> RouteAnswer:
        """Replay, revive or cancel one job."""
        job, verb = visit.place["job"], visit.place["verb"]
        ids = {"ids": [job]}
        if verb == "replay":
            body = {**ids, **self._desk.replay_of(visit)}
            done = await self._desk.operator.replay(body, visit.by)
            return see_other(f"/replays/{done['id']}")
        await self._act(verb)(ids, visit.by)
        return see_other(f"/jobs/{job}")

    # -- many --------------------------------------------------------------------------------------

    async def _dead(self, visit: Visit) -> RouteAnswer:
        query = self._desk.query(visit, *SELECTOR, LIMIT)
        found = await self._desk.reading.dead(query.selector())
        causes = [
            (c, c.reason if visit.bodies else c.reason.partition(":")[0]) for c in found.causes
        ]
        return self._desk.page("dead.html", visit, causes=causes)

    async def _plan(self, visit: Visit) -> RouteAnswer:
        """What a verb would do. Nothing is done by looking."""
        query = self._desk.query(visit, *SELECTOR, WHERE, STATE, *_PLAN)
        unquoted(visit, query)
        chosen = query.selector((*DELIVERY_STATES, *JOB_STATES))
        asked: dict[str, Any] = {n: v for n in SELECTED if (v := getattr(chosen, n)) is not None}
        selector_body({n: str(v) for n, v in asked.items()})
        verb = query.text("verb") or "replay"
        body: dict[str, Any] = {"selector": asked, "dry_run": True}
        form: dict[str, str] = {}
        if verb == "replay":
            form["name"] = self._desk.name()
            if query.text("again") == "yes":
                form["again"] = "yes"
                body["again"] = True
        planned = await self._act(verb)(body, visit.by)
        if planned["until"] is not None:
            form["until"] = planned["until"]
        others = [one for one in _VERBS if one != verb and _fits(one, asked.get("state"))]
        return self._desk.page(
            "plan.html", visit, asked=asked, verb=verb, planned=planned, fields={**asked, **form},
            dead=asked.get("state") == "dead" or "cause" in asked,
            others=[(one, urlencode({**asked, "verb": one})) for one in others],
            again_query=urlencode({**asked, "again": "yes"}),
        )  # fmt: skip

    def _act(self, verb: str) -> Act:
        """What does it. Raises NotFound."""
        if verb not in _VERBS:
            raise NotFound("there is no such page")
        operator = self._desk.operator
        acts: dict[str, Act] = {
            "replay": operator.replay,
            "revive": operator.revive,
            "cancel": operator.cancel,
        }
        return acts[verb]

    async def _make(self, visit: Visit) -> RouteAnswer:
        verb = visit.place["verb"]
        body: dict[str, Any] = {"selector": selector_body(dict(visit.form))}
        if verb == "replay":
            body |= self._desk.replay_of(visit)
            done = await self._desk.operator.replay(body, visit.by)
            return see_other(f"/replays/{done['id']}")
        done = await self._act(verb)(body, visit.by)
        return self._desk.page("done.html", visit, done=done)

    # -- replays -----------------------------------------------------------------------------------

    async def _replays(self, visit: Visit) -> RouteAnswer:
        found = await self._desk.reading.replays(REPLAYS_SHOWN)
        return self._desk.page("replays.html", visit, replays=found.replays)

    async def _replay(self, visit: Visit) -> RouteAnswer:
        replay = await self._desk.reading.replay(visit.place["replay"])
        made = await self._desk.reading.jobs(Selector(replay=replay.id, limit=50))
        jobs = made.jobs if visit.bodies else tuple(map(hidden_job, made.jobs))
        return self._desk.page("replay.html", visit, replay=replay, jobs=jobs, more=made.next)
