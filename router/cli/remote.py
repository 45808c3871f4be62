"""An operator's questions and verbs to a server, by its admin API."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from router.cli.admin import AdminClient, MayNotSee
from router.cli.output import note
from router.errors import AmbiguousId, NotFound
from router.model.delivery import Delivery
from router.model.operations import Change
from router.operator import answers
from router.operator.erasure_answers import ErasurePlan, ErasureProgress, Erasures
from router.operator.id_lookup import with_job_alone
from router.operator.overview_answer import Overview
from router.operator.requests import (
    BackupNote,
    ChangeRequest,
    EraseRequest,
    PruneRequest,
    RememberRequest,
    ReplayRequest,
    TargetRequest,
    TokenName,
    TokenRequest,
)
from router.operator.token_answers import NewToken, TokenList, TokenRevoked
from router.store.values import DeliveryRecord, Generation, Selector

if TYPE_CHECKING:
    from router.operator.questions import StoreQuestions

Questions: TypeAlias = "StoreQuestions | RemoteOperator"
"""What a command asks: the store, or a server. Both answer alike."""

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
"""Lines of an answer of the API."""

A = TypeVar("A")
R = TypeVar("R", bound=msgspec.Struct)


def _reads(name: str, kind: type[A]) -> Callable[["RemoteOperator"], Coroutine[Any, Any, A]]:
    """A question without a word more: what is there."""

    async def read(self: "RemoteOperator") -> A:
        return self._client.read(f"/api/{name}", {}, kind)

    return read


def _reads_one(
    name: str, kind: type[A]
) -> Callable[["RemoteOperator", str], Coroutine[Any, Any, A]]:
    """A question for the one of this id, or the beginning of one."""

    async def read(self: "RemoteOperator", id_: str) -> A:
        return self._client.read(f"/api/{name}/{quote(id_, safe='')}", {}, kind)

    return read


def _posts(
    verb: str, _asked: type[R], kind: type[A], **more: Any
) -> Callable[["RemoteOperator", R], Coroutine[Any, Any, A]]:
    """A verb of the API, which is given a request like `_asked`."""

    async def post(self: "RemoteOperator", request: R) -> A:
        return self._post(verb, request, kind, **more)

    return post


class RemoteOperator:
    """
    The server behind an admin client, as an operator's interface. One request at a time, waited
    for: a command does nothing else meanwhile. Who acts the server knows by the token.
    """

    def __init__(self, client: AdminClient) -> None:
        self._client = client

    rules = _reads("rules", answers.RuleList)
    targets = _reads("targets", answers.TargetList)
    overview = _reads("overview", Overview)
    tokens = _reads("tokens", TokenList)
    known_erasures = _reads("erasures", Erasures)

    generation = _reads_one("generations", Generation)
    replayed = _reads_one("replays", answers.ReplayProgress)
    erasure = _reads_one("erasures", ErasureProgress)

    plan_replay = _posts("replay", ReplayRequest, answers.OperatorPlan, dry_run=True)
    plan_erase = _posts("erase", EraseRequest, ErasurePlan, dry_run=True)

    # A replay and an erasure may go on when they are answered; a pruning is a bounded piece.
    replay = _posts("replay", ReplayRequest, answers.ReplayProgress)
    erase = _posts("erase", EraseRequest, ErasureProgress)
    prune = _posts("prune", PruneRequest, answers.PruneProgress)
    cancel = _posts("cancel", ChangeRequest, answers.Cancelled)
    revive = _posts("revive", ChangeRequest, answers.Revived)
    pause = _posts("pause", TargetRequest, answers.TargetChanged)
    resume = _posts("resume", TargetRequest, answers.TargetChanged)
    new_token = _posts("tokens", TokenRequest, NewToken)
    revoke_token = _posts("tokens/revoke", TokenName, TokenRevoked)
    remember = _posts("remember", RememberRequest, answers.Remembered)
    backed_up = _posts("backup", BackupNote, answers.Noted)

    async def deliveries(self, selector: Selector, cursor: str | None = None) -> answers.Deliveries:
        """As many pages as the limit needs."""
        return self._listed(
            "deliveries", _query(selector), selector.limit, cursor, answers.Deliveries
        )

    async def jobs(self, selector: Selector, cursor: str | None = None) -> answers.Jobs:
        """As many pages as the limit needs."""
        return self._listed("jobs", _query(selector), selector.limit, cursor, answers.Jobs)

    async def audit(
        self, since: int | None, until: int | None, limit: int, cursor: str | None = None
    ) -> answers.AuditLines:
        """As many pages as the limit needs."""
        span = {n: t for n, t in (("since", since), ("until", until)) if t is not None}
        return self._listed("audit", span, limit, cursor, answers.AuditLines)

    async def export(self, selector: Selector, cursor: str | None = None) -> answers.ExportPage:
        """A page, its numbers digit for digit."""
        place = {} if cursor is None else {"cursor": cursor}
        return self._client.export({**_query(selector), **place})

    async def dead(self, selector: Selector) -> answers.Dead:
        """Up to so many causes as the server tells at once, the latest."""
        query = _query(msgspec.structs.replace(selector, state=None))
        query["limit"] = min(selector.limit or LIMIT_MAX, LIMIT_MAX)
        found = self._client.read("/api/dead", query, answers.Dead)
        if len(found.causes) == LIMIT_MAX:
            note(f"a server lists the latest {LIMIT_MAX} causes; --rule, --since … narrow it")
        return found

    async def show(self, identity: str) -> DeliveryRecord:
        """Without payloads, where the token may not see them."""
        if not identity.startswith("job_"):
            try:
                return self._delivery(identity)
            except AmbiguousId:
                raise
            except NotFound:
                if identity.startswith("dlv_"):
                    raise
        path = f"/api/jobs/{quote(identity, safe='')}"
        job = self._client.read(path, {}, answers.OneJob).job
        return with_job_alone(self._delivery(job.delivery), job)

    async def plan_change(self, verb: Change, request: ChangeRequest) -> answers.OperatorPlan:
        """What the verb would change."""
        return self._post(verb, request, answers.OperatorPlan, dry_run=True)

    async def run(self) -> answers.Resumed:
        """Run jobs, if it is held."""
        return self._client.post("/api/run", {}, answers.Resumed)

    def _post(self, verb: str, body: msgspec.Struct, kind: type[A], **more: Any) -> A:
        return self._client.post(f"/api/{verb}", {**msgspec.to_builtins(body), **more}, kind)

    def _listed(
        self, name: str, query: dict[str, Any], limit: int | None, cursor: str | None, kind: type[A]
    ) -> A:
        """The pages of a list as one answer."""
        left = LIMIT_DEFAULT if limit is None else limit
        pages: list[Any] = []
        while not pages or (cursor is not None and left > 0):
            place = {} if cursor is None else {"cursor": cursor}
            page = {**query, "limit": min(left, LIMIT_MAX), **place}
            pages.append(self._client.read(f"/api/{name}", page, kind))
            left -= LIMIT_MAX
            cursor = pages[-1].next
        joined: dict[str, Any] = {
            name: tuple([row for page in pages for row in getattr(page, name)])
        }
        if kind is not answers.AuditLines:  # it knows no condition
            joined["failed"] = sum(page.failed for page in pages)
            joined["reason"] = next((page.reason for page in pages if page.reason), None)
        found: A = msgspec.structs.replace(pages[-1], **joined)
        return found

    def _delivery(self, identity: str) -> DeliveryRecord:
        path = f"/api/deliveries/{quote(identity, safe='')}"
        found = self._client.read(path, {}, answers.OneDelivery)
        try:
            body = self._client.body(found.id)
        except MayNotSee as error:
            note(str(error))
            body = answers.HIDDEN.encode()
        known = msgspec.structs.asdict(found)
        known["delivery"] = msgspec.convert({**known, "body": body}, Delivery)
        return msgspec.convert(known, DeliveryRecord, from_attributes=True)


def _query(selector: Selector) -> dict[str, Any]:
    """The selector as query parameters."""
    query = selector.as_json()
    query.pop("limit", None)
    if selector.var:
        query["var"] = msgspec.json.encode(selector.var).decode()
    if selector.ids:
        query["id"] = ",".join(query.pop("ids"))
    return query
