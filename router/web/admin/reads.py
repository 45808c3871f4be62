"""The questions of the API: each turns a query string into a question, and its answer into JSON."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar import Controller, Response
from litestar.params import FromPath

from router import __version__, metrics
from router.errors import UsageError
from router.operator import answers
from router.operator.overview_answer import Overview
from router.operator.protocol import Running
from router.operator.questions import StoreQuestions
from router.operator.token_answers import TokenList, Whoami
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef
from router.store.values import Generation
from router.web.admin.query import (
    CURSOR,
    DELIVERY_STATES,
    JOB_STATES,
    LIMIT,
    SELECTOR,
    SPAN,
    STATE,
    VAR,
    WHERE,
    QueryParameter,
)
from router.web.admin.request import AdminRequest, Given, question

REFUSALS_DEFAULT, REFUSALS_MAX = 100, 1_000
BYTES, TEXT = "application/octet-stream", "text/plain"

_LIST = (*SELECTOR, LIMIT, CURSOR, STATE)
_REFUSAL = (
    QueryParameter("id", "Of this id, or `last`, the newest (default)."),
    QueryParameter("endpoint", "The newest of this endpoint."),
)
_OUTPUT = (
    QueryParameter("job", "The job's id."),
    QueryParameter("after", "The `next` of the answer before."),
)


class ListRoutes(Controller):
    """Pages of what is stored."""

    @question("/api/deliveries", "Deliveries.", *_LIST, WHERE, VAR)
    async def deliveries(
        self, request: AdminRequest, questions: Given[StoreQuestions]
    ) -> answers.Deliveries:
        """Newest first."""
        selector, cursor = request.query.selector(DELIVERY_STATES), request.query.text("cursor")
        return await questions.deliveries(selector, cursor, request.by)

    @question("/api/jobs", "Jobs.", *_LIST, WHERE, VAR)
    async def jobs(self, request: AdminRequest, questions: Given[StoreQuestions]) -> answers.Jobs:
        """Newest first."""
        selector, cursor = request.query.selector(JOB_STATES), request.query.text("cursor")
        return request.visible(await questions.jobs(selector, cursor, request.by))

    @question("/api/dead", "Dead jobs, by cause.", *SELECTOR, LIMIT, WHERE, VAR)
    async def dead(self, request: AdminRequest, questions: Given[StoreQuestions]) -> answers.Dead:
        """The latest cause first."""
        return request.visible(await questions.dead(request.query.selector(), request.by))

    @question(
        "/api/export",
        "What is stored about somebody, to be handed over: whole, oldest first.",
        *SELECTOR, STATE, WHERE, VAR, CURSOR, payloads=True,
    )  # fmt: skip
    async def export(
        self, request: AdminRequest, questions: Given[StoreQuestions]
    ) -> dict[str, Any]:
        """A page at a time; an empty one may be followed by others."""
        selector, cursor = request.query.selector(DELIVERY_STATES), request.query.text("cursor")
        found = await questions.export(selector, cursor, request.by)
        return msgspec.Raw(msgspec.json.encode(found))  # type: ignore[return-value]

    @question("/api/audit", "Who changed what.", *SPAN, LIMIT, CURSOR)
    async def audit(
        self, request: AdminRequest, questions: Given[StoreQuestions]
    ) -> answers.AuditLines:
        """Newest first."""
        return await questions.audit(*request.query.span(), request.query.text("cursor"))


class RecordRoutes(Controller):
    """One of what is stored."""

    @question("/api/deliveries/{delivery:str}", "One delivery, its jobs and attempts.")
    async def delivery(
        self, request: AdminRequest, questions: Given[StoreQuestions], delivery: FromPath[str]
    ) -> answers.OneDelivery:
        """By its id or the beginning of it."""
        return request.visible(await questions.delivery(delivery))

    @question(
        "/api/deliveries/{delivery:str}/body", "Its body, byte for byte.",
        payloads=True, media_type=BYTES,
    )  # fmt: skip
    async def body_of(
        self, questions: Given[StoreQuestions], delivery: FromPath[str]
    ) -> Response[bytes]:
        """Never shown by a browser, only kept."""
        body = (await questions.record(delivery)).delivery.body
        return Response(body, media_type=BYTES, headers={"content-disposition": "attachment"})

    @question("/api/jobs/{job:str}", "One job and its attempts.")
    async def job(
        self, request: AdminRequest, questions: Given[StoreQuestions], job: FromPath[str]
    ) -> answers.OneJob:
        """By its id or the beginning of it."""
        return request.visible(await questions.job(job))

    @question("/api/replays/{replay:str}", "One replay.")
    async def replay(
        self, verbs: Given[StoreVerbs], replay: FromPath[str]
    ) -> answers.ReplayProgress:
        """How far it is."""
        return await verbs.replayed(replay)

    @question("/api/generations/{generation:str}", "The rules file of a generation.")
    async def generation(
        self, questions: Given[StoreQuestions], generation: FromPath[str]
    ) -> Generation:
        """By its id or the beginning of it."""
        return await questions.generation(generation)


class ServerRoutes(Controller):
    """What runs here, and by which rules."""

    @question(
        "/metrics", "Counters, in the Prometheus text format.", access="loopback", media_type=TEXT
    )
    async def metrics(
        self, render_metrics: Given[Callable[[], Awaitable[bytes]]]
    ) -> Response[bytes]:
        """With what only the store knows."""
        return Response(await render_metrics(), headers={"content-type": metrics.CONTENT_TYPE})

    @question("/api/whoami", "Whose token this is, and which router answers.")
    async def whoami(self, request: AdminRequest, live: Given[LiveRef]) -> Whoami:
        """What it may do, too."""
        user, base_url = request.user, live.current.ruleset.server.base_url
        return Whoami(user.name, user.role, user.bodies, __version__, base_url)

    @question("/api/status", "The state of this server.")
    async def status(self, running: Given[Running]) -> answers.ServerState:
        """With the last reload."""
        return await running.status()

    @question("/api/overview", "Everything at one glance: what came, failed and waits.")
    async def overview(self, questions: Given[StoreQuestions]) -> Overview:
        """With what needs a person first."""
        return await questions.overview()

    @question("/api/rules", "The rules, their jobs and counters.")
    async def rules(self, questions: Given[StoreQuestions]) -> answers.RuleList:
        """In file order."""
        return await questions.rules()

    @question("/api/targets", "Targets: their limits and state.")
    async def targets(self, questions: Given[StoreQuestions]) -> answers.TargetList:
        """Named ones first."""
        return await questions.targets()

    @question("/api/tokens", "Who may call this API.", access="admin")
    async def tokens(self, questions: Given[StoreQuestions]) -> TokenList:
        """Their names, never their values."""
        return await questions.tokens()

    @question("/api/refusals", "Recently refused requests.", LIMIT)
    async def refusals(self, request: AdminRequest, running: Given[Running]) -> answers.RefusalList:
        """Newest first."""
        most = request.query.number("limit", REFUSALS_DEFAULT, REFUSALS_MAX)
        return request.visible(await running.refusals(most))

    @question("/api/refusal", "One refused request, whole.", *_REFUSAL, payloads=True)
    async def refusal(
        self, request: AdminRequest, running: Given[Running]
    ) -> answers.RefusedRequest:
        """The newest, unless it is named."""
        query = request.query
        wanted, endpoint = query.text("id") or "last", query.text("endpoint")
        return await running.refusal(wanted, endpoint)

    @question("/api/output", "What a running command has written.", *_OUTPUT, payloads=True)
    async def output(self, request: AdminRequest, running: Given[Running]) -> answers.JobOutput:
        """Since the `next` that is given."""
        if (job := request.query.text("job")) is None:
            raise UsageError("name the job: ?job=ID")
        return await running.output(job, request.query.text("after") or "")
