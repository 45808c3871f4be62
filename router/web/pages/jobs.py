"""Pages of work: jobs, dead ones by cause, replays, and the plan of one before it is made."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Controller
from litestar.params import FromPath

from router.errors import NotFound
from router.model.job import OPEN
from router.model.operations import Change
from router.model.selector import Criteria
from router.operator.answers import Cancelled, JobOutput, Revived
from router.operator.requests import ChangeRequest, ReplayRequest
from router.store.values import Selector
from router.web.admin.query import (
    DELIVERY_STATES,
    JOB_STATES,
    LIMIT,
    SELECTOR,
    STATE,
    WHERE,
    QueryParameter,
)
from router.web.admin.request import Given
from router.web.pages.context import SELECTED, PageContext, selector_of
from router.web.pages.request import Shown, action, page, see_other

REPLAYS_SHOWN = 50
_PLAN = (
    QueryParameter("verb", "`revive` or `cancel`; else a replay."),
    QueryParameter("again", "`yes`: also what has been replayed already."),
)
_CHANGES: dict[str, Change] = {"revive": "revive", "cancel": "cancel"}
_VERBS = ("replay", "revive", "cancel")


def _fits(verb: str, state: str | None) -> bool:
    """Whether a verb may change jobs in this state, or deliveries."""
    if state is None or verb == "replay":
        return True
    return state == "dead" if verb == "revive" else state in OPEN


class JobPages(Controller):
    """Jobs, and what is done with many of them."""

    @page("/jobs")
    async def list(self, context: Given[PageContext]) -> Shown:
        """Jobs by a selector."""
        return await context.listing("jobs", JOB_STATES, context.questions.jobs)

    @page("/jobs/{job:str}")
    async def one(self, context: Given[PageContext], job: FromPath[str]) -> Shown:
        """A job with its attempts, and what it writes while it runs."""
        found, bodies = context.request.visible(await context.questions.job(job)), context.bodies
        one = found.job
        names = await context.questions.full_names([one])
        output = JobOutput(running=False)
        if one.state == "running" and bodies:
            output = await context.running.output(one.id, "")
        return context.page(
            "job.html", job=one, attempts=found.attempts, output=output, open=one.state in OPEN,
            name=context.name(), event=names.get(one.event_id, one.event),
        )  # fmt: skip

    @action("/jobs/{job:str}/{verb:str}")
    async def change(
        self, context: Given[PageContext], job: FromPath[str], verb: FromPath[str]
    ) -> Shown:
        """Replay, revive or cancel one job."""
        if verb == "replay":
            return await context.replay((job,))
        await _changed(context, verb, ChangeRequest((job,)))
        return see_other(f"/jobs/{job}")

    @page("/dead")
    async def dead(self, context: Given[PageContext]) -> Shown:
        """Dead jobs, by cause."""
        selector = context.query(*SELECTOR, LIMIT).selector()
        found = context.request.visible(await context.questions.dead(selector, context.request.by))
        return context.page("dead.html", causes=found.causes)

    @page("/plan", access="operator")
    async def plan(self, context: Given[PageContext]) -> Shown:
        """What a verb would do. Nothing is done by looking."""
        query = context.query(*SELECTOR, WHERE, STATE, *_PLAN)
        given = query.selector((*DELIVERY_STATES, *JOB_STATES))
        fields = {n: str(v) for n in SELECTED if (v := getattr(given, n)) is not None}
        chosen = _chosen(fields, given.ids)
        asked = {**({"id": ",".join(given.ids)} if given.ids else {}), **fields}
        verb = query.text("verb") or "replay"
        form: dict[str, Any] = {}
        if verb == "replay":
            again = query.text("again") == "yes"
            form = {"name": context.name(), **({"again": "yes"} if again else {})}
            wanted = ReplayRequest(given.ids, chosen, again=again)
            planned = await context.verbs.plan_replay(wanted, context.request.by)
        else:
            change = ChangeRequest(given.ids, chosen)
            planned = await context.verbs.plan_change(_change(verb), change, context.request.by)
        if planned.until is not None:
            form["until"] = planned.until
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
        ids = tuple(filter(None, context.form.get("id", "").split(",")))
        selector = _chosen(context.form, ids)
        if verb == "replay":
            return await context.replay(ids, selector)
        done = await _changed(context, verb, ChangeRequest(ids, selector))
        return context.page("done.html", done=msgspec.structs.asdict(done))

    @page("/replays")
    async def replays(self, context: Given[PageContext]) -> Shown:
        """The newest."""
        found = await context.questions.replays(REPLAYS_SHOWN)
        return context.page("replays.html", replays=found.replays)

    @page("/replays/{replay:str}")
    async def replay_of(self, context: Given[PageContext], replay: FromPath[str]) -> Shown:
        """One, and what it made."""
        found = await context.questions.replay(replay)
        made = await context.questions.jobs(Selector(replay=found.id, limit=50))
        return context.page(
            "replay.html", replay=found, jobs=context.request.visible(made.jobs), more=made.next,
            names=await context.questions.full_names(made.jobs),
        )  # fmt: skip


def _chosen(fields: Mapping[str, str], ids: tuple[str, ...]) -> Criteria | None:
    """What is selected, perhaps besides ids. Raises UsageError: nothing is."""
    return None if ids and not any(map(fields.get, SELECTED)) else selector_of(fields)


def _change(verb: str) -> Change:
    """Raises NotFound: it is none."""
    if verb not in _CHANGES:
        raise NotFound("there is no such page")
    return _CHANGES[verb]


async def _changed(context: PageContext, verb: str, request: ChangeRequest) -> Revived | Cancelled:
    """Raises NotFound: there is no such verb."""
    if _change(verb) == "revive":
        return await context.verbs.revive(request, context.request.by)
    return await context.verbs.cancel(request, context.request.by)
