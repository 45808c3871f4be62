"""The routes that ask: each turns a query into a question, and its answer into JSON."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from router import metrics
from router.errors import UsageError
from router.expressions import encode_json
from router.store.values import Selector
from router.web.admin import answers
from router.web.admin.asking import (
    CURSOR,
    DELIVERY_STATES,
    JOB_STATES,
    LIMIT,
    SELECTOR,
    SPAN,
    STATE,
    WHERE,
    QueryParameter,
)
from router.web.admin.call import BYTES, JSON, TEXT, Call, Rejected, Route, RouteAnswer
from router.web.admin.hiding import (
    hidden_attempt,
    hidden_delivery,
    hidden_job,
    hidden_listed,
)
from router.web.admin.reading import Place, Questions
from router.web.ports import OperatorPort

REFUSALS_DEFAULT, REFUSALS_MAX = 100, 1_000
_LIST = (*SELECTOR, LIMIT, CURSOR)
_EVENT = QueryParameter("event", "Only the event of this index, counted from 0.")
_REFUSAL = (
    QueryParameter("id", "Of this id, or `last`, the newest (default)."),
    QueryParameter("endpoint", "The newest of this endpoint."),
)
_OUTPUT = (
    QueryParameter("job", "The job's id."),
    QueryParameter("after", "The `next` of the answer before."),
)
SUBSCRIPTIONS, RANGES = "subscription/", "ranges/"
"""How the names of facts begin that the management rooms keep."""
_ATTACHED = ((b"content-disposition", b"attachment"),)


def as_json(value: Any) -> RouteAnswer:
    """A value as the answer."""
    return RouteAnswer(200, JSON, msgspec.json.encode(value))


class Reads:
    """Handlers of the routes that change nothing."""

    def __init__(
        self,
        reading: Questions,
        operator: OperatorPort,
        render_metrics: Callable[[], Awaitable[bytes]],
    ) -> None:
        self._reading = reading
        self._operator = operator
        self._render_metrics = render_metrics

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [*self._health(), *self._lists(), *self._ones(), *self._server()]

    def _health(self) -> list[Route]:
        return [
            Route("GET", "/livez", "open", "Whether the process lives.", self._livez),
            Route("GET", "/readyz", "open", "Whether a delivery can be committed.", self._readyz),
            Route(
                "GET", "/metrics", "loopback", "Counters, in the Prometheus text format.",
                self._metrics,
            ),
        ]  # fmt: skip

    def _lists(self) -> list[Route]:
        def listed(path: str, about: str, handle: Any, answer: Any, *more: QueryParameter) -> Route:
            query = (*_LIST, STATE, *more)
            return Route("GET", path, "viewer", about, handle, query, answer=answer)

        return [
            listed(
                "/api/deliveries", "What has arrived.", self._deliveries, answers.Deliveries, WHERE
            ),
            listed("/api/events", "What happened, by event.", self._events, answers.EventPage),
            listed("/api/jobs", "Work, by job.", self._jobs, answers.Jobs, WHERE),
            listed("/api/attempts", "Work, by attempt.", self._attempts, answers.Attempts),
            Route(
                "GET", "/api/dead", "viewer", "Dead jobs by what they died of.", self._dead,
                (*SELECTOR, LIMIT), answer=answers.Dead,
            ),
            Route(
                "GET", "/api/audit", "viewer", "Who changed what.", self._audit,
                (*SPAN, LIMIT, CURSOR), answer=answers.AuditLines,
            ),
            Route(
                "GET", "/api/replays", "viewer", "Replays and how far they are.", self._replays,
                (LIMIT,), answer=answers.Replays,
            ),
            Route(
                "GET", "/api/generations", "viewer", "Rules files that were in force.",
                self._generations, (LIMIT, CURSOR), answer=answers.Generations,
            ),
        ]  # fmt: skip

    def _ones(self) -> list[Route]:
        one = "/api/deliveries/{delivery}"
        return [
            Route(
                "GET", one, "viewer", "One delivery, its jobs and attempts.", self._delivery,
                answer=answers.OneDelivery,
            ),
            Route(
                "GET", f"{one}/body", "viewer", "Its body, byte for byte.", self._body,
                answer=BYTES, payloads=True,
            ),
            Route(
                "GET", f"{one}/explain", "viewer", "Every rule beside every event of it.",
                self._explain, (_EVENT,), answer=dict[str, Any], payloads=True,
            ),
            Route(
                "GET", "/api/jobs/{job}", "viewer", "One job and its attempts.", self._job,
                answer=answers.OneJob,
            ),
            Route(
                "GET", "/api/replays/{replay}", "viewer", "One replay.", self._replay,
                answer=dict[str, Any],
            ),
            Route(
                "GET", "/api/generations/{generation}", "viewer", "A rules file that was in force.",
                self._generation, answer=answers.GenerationText,
            ),
        ]  # fmt: skip

    def _server(self) -> list[Route]:
        return [
            Route(
                "GET", "/api/me", "viewer", "Whose token this is.", self._me, answer=answers.Me
            ),
            Route(
                "GET", "/api/status", "viewer", "What runs here.", self._status,
                answer=dict[str, Any],
            ),
            Route(
                "GET", "/api/rules", "viewer", "The rules, their jobs and counters.", self._rules,
                answer=answers.RuleList,
            ),
            Route(
                "GET", "/api/targets", "viewer", "Where work goes.", self._targets,
                answer=answers.TargetList,
            ),
            Route(
                "GET", "/api/endpoints", "viewer", "Where deliveries arrive.", self._endpoints,
                answer=answers.Endpoints,
            ),
            Route(
                "GET", "/api/subscriptions", "viewer", "Subscriptions that are known.",
                self._subscriptions, answer=answers.Remembered,
            ),
            Route(
                "GET", "/api/ranges", "viewer", "Published address ranges that are known.",
                self._ranges, answer=answers.Remembered,
            ),
            Route(
                "GET", "/api/refusals", "viewer", "What was refused lately.", self._refusals,
                (LIMIT,), answer=dict[str, Any],
            ),
            Route(
                "GET", "/api/refusal", "viewer", "One refused request, whole.", self._refusal,
                _REFUSAL, answer=dict[str, Any], payloads=True,
            ),
            Route(
                "GET", "/api/output", "viewer", "What a running command has written.",
                self._output, _OUTPUT, answer=dict[str, Any], payloads=True,
            ),
        ]  # fmt: skip

    async def _livez(self, _: Call) -> RouteAnswer:
        return RouteAnswer(200, TEXT, b"ok\n")

    async def _readyz(self, _: Call) -> RouteAnswer:
        if await self._operator.ready():
            return RouteAnswer(200, TEXT, b"ready\n")
        return RouteAnswer(503, TEXT, b"not ready\n")

    async def _metrics(self, _: Call) -> RouteAnswer:
        return RouteAnswer(200, metrics.CONTENT_TYPE, await self._render_metrics())

    async def _deliveries(self, call: Call) -> RouteAnswer:
        selector = _looking(call, DELIVERY_STATES)
        before = call.query.cursor("deliveries", str)
        return as_json(await self._reading.deliveries(selector, before))

    async def _events(self, call: Call) -> RouteAnswer:
        selector = call.query.selector(DELIVERY_STATES)
        return as_json(await self._reading.events(selector, call.query.cursor("events", Place)))

    async def _jobs(self, call: Call) -> RouteAnswer:
        before = call.query.cursor("jobs", str)
        found = await self._reading.jobs(_looking(call, JOB_STATES), before)
        if not call.caller.bodies:
            found = msgspec.structs.replace(found, jobs=tuple(map(hidden_job, found.jobs)))
        return as_json(found)

    async def _attempts(self, call: Call) -> RouteAnswer:
        after = call.query.cursor("attempts", Place)
        found = await self._reading.attempts(call.query.selector(JOB_STATES), after)
        if not call.caller.bodies:
            shown = tuple(map(hidden_listed, found.attempts))
            found = msgspec.structs.replace(found, attempts=shown)
        return as_json(found)

    async def _dead(self, call: Call) -> RouteAnswer:
        found = await self._reading.dead(call.query.selector())
        if not call.caller.bodies:
            causes = tuple(
                msgspec.structs.replace(c, reason=c.reason.partition(":")[0]) for c in found.causes
            )
            found = answers.Dead(causes)
        return as_json(found)

    async def _audit(self, call: Call) -> RouteAnswer:
        query = call.query
        before = query.cursor("audit", Place)
        since, until = query.time("since"), query.time("until")
        return as_json(await self._reading.audit(since, until, query.limit(), before))

    async def _replays(self, call: Call) -> RouteAnswer:
        return as_json(await self._reading.replays(call.query.limit()))

    async def _replay(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.replayed(call.place["replay"]))

    async def _generations(self, call: Call) -> RouteAnswer:
        after = call.query.cursor("generations", str)
        return as_json(await self._reading.generations(call.query.limit(), after))

    async def _generation(self, call: Call) -> RouteAnswer:
        return as_json(await self._reading.generation(call.place["generation"]))

    async def _delivery(self, call: Call) -> RouteAnswer:
        found = await self._reading.delivery(call.place["delivery"])
        return as_json(found if call.caller.bodies else hidden_delivery(found))

    async def _body(self, call: Call) -> RouteAnswer:
        record = await self._reading.record(call.place["delivery"])
        return RouteAnswer(200, BYTES, record.delivery.body, _ATTACHED)

    async def _explain(self, call: Call) -> RouteAnswer:
        text = call.query.text("event")
        number = None if text is None else call.query.number("event", 0, 1_000_000)
        found = await self._reading.explain(call.place["delivery"], number)
        return RouteAnswer(200, JSON, encode_json(found))

    async def _job(self, call: Call) -> RouteAnswer:
        found = await self._reading.job(call.place["job"])
        if not call.caller.bodies:
            shown = tuple(map(hidden_attempt, found.attempts))
            found = answers.OneJob(hidden_job(found.job), shown)
        return as_json(found)

    async def _me(self, call: Call) -> RouteAnswer:
        who = call.caller
        return as_json(answers.Me(who.name, who.role, who.bodies))

    async def _status(self, _: Call) -> RouteAnswer:
        return as_json(await self._operator.status())

    async def _rules(self, _: Call) -> RouteAnswer:
        return as_json(await self._reading.rules())

    async def _targets(self, _: Call) -> RouteAnswer:
        return as_json(answers.TargetList(await self._operator.targets()))

    async def _endpoints(self, _: Call) -> RouteAnswer:
        return as_json(self._reading.endpoints())

    async def _subscriptions(self, _: Call) -> RouteAnswer:
        return as_json(await self._reading.remembered(SUBSCRIPTIONS))

    async def _ranges(self, _: Call) -> RouteAnswer:
        return as_json(await self._reading.remembered(RANGES))

    async def _refusals(self, call: Call) -> RouteAnswer:
        limit = call.query.number("limit", REFUSALS_DEFAULT, REFUSALS_MAX)
        found = self._operator.refusals(limit)
        if not call.caller.bodies:
            found = [{**refusal, "hint": None} for refusal in found]
        return as_json({"refusals": found})

    async def _refusal(self, call: Call) -> RouteAnswer:
        wanted = call.query.text("id") or "last"
        return as_json(self._operator.refusal(wanted, call.query.text("endpoint")))

    async def _output(self, call: Call) -> RouteAnswer:
        job = call.query.text("job")
        if job is None:
            raise UsageError("name the job: ?job=ID")
        return as_json(self._operator.output(job, call.query.text("after") or ""))


def _looking(call: Call, states: tuple[str, ...]) -> Selector:
    """The selector. A condition tells of payloads, so a caller without bodies may give none."""
    selector = call.query.selector(states)
    if selector.where is not None and not call.caller.bodies:
        raise Rejected(403, f"the token {call.caller.name} may not see payloads, so no `where`")
    return selector
