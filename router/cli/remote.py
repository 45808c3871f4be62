"""An operator's questions and verbs to a server, by its admin API."""

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
    LOCAL,
    BackupNote,
    By,
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
from router.store.values import DeliveryRecord, EventEntry, Generation, Selector

if TYPE_CHECKING:
    from router.operator.questions import StoreQuestions

Questions: TypeAlias = "StoreQuestions | RemoteOperator"
"""What a command asks: the store, or a server. Both answer alike."""

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
"""Lines of an answer of the API."""

A = TypeVar("A")


class RemoteOperator:
    """
    The server behind an admin client, as an operator's interface. One request at a time, waited
    for: a command does nothing else meanwhile. Who acts the server knows by the token.
    """

    def __init__(self, client: AdminClient) -> None:
        self._client = client

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

    async def generation(self, prefix: str) -> Generation:
        """One that was kept."""
        return self._client.read(f"/api/generations/{quote(prefix, safe='')}", {}, Generation)

    async def rules(self) -> answers.RuleList:
        """Those in force there."""
        return self._client.read("/api/rules", {}, answers.RuleList)

    async def targets(self) -> answers.TargetList:
        """As dispatch there sees them."""
        return self._client.read("/api/targets", {}, answers.TargetList)

    async def overview(self) -> Overview:
        """As it is there."""
        return self._client.read("/api/overview", {}, Overview)

    async def tokens(self) -> TokenList:
        """Those of that router."""
        return self._client.read("/api/tokens", {}, TokenList)

    async def new_token(self, request: TokenRequest, _by: By = LOCAL) -> NewToken:
        """Make one there."""
        return self._post("tokens", request, NewToken)

    async def revoke_token(self, request: TokenName, _by: By = LOCAL) -> TokenRevoked:
        """Take one back there."""
        return self._post("tokens/revoke", request, TokenRevoked)

    async def plan_replay(self, request: ReplayRequest) -> answers.OperatorPlan:
        """What `replay` would do."""
        return self._post("replay", request, answers.OperatorPlan, dry_run=True)

    async def replay(self, request: ReplayRequest, _by: By = LOCAL) -> answers.ReplayProgress:
        """Make new jobs; perhaps they are not all made yet."""
        return self._post("replay", request, answers.ReplayProgress)

    async def replayed(self, id_: str) -> answers.ReplayProgress:
        """How far a replay is."""
        path = f"/api/replays/{quote(id_, safe='')}"
        return self._client.read(path, {}, answers.ReplayProgress)

    async def plan_erase(self, request: EraseRequest) -> ErasurePlan:
        """What `erase` would take out."""
        return self._post("erase", request, ErasurePlan, dry_run=True)

    async def erase(self, request: EraseRequest, _by: By = LOCAL) -> ErasureProgress:
        """Erase it; perhaps that is not done yet."""
        return self._post("erase", request, ErasureProgress)

    async def known_erasures(self) -> Erasures:
        """Those under way there."""
        return self._client.read("/api/erasures", {}, Erasures)

    async def erasure(self, id_: str) -> ErasureProgress:
        """How far one is."""
        path = f"/api/erasures/{quote(id_, safe='')}"
        return self._client.read(path, {}, ErasureProgress)

    async def plan_change(self, verb: Change, request: ChangeRequest) -> answers.OperatorPlan:
        """What the verb would change."""
        return self._post(verb, request, answers.OperatorPlan, dry_run=True)

    async def cancel(self, request: ChangeRequest, _by: By = LOCAL) -> answers.Cancelled:
        """Cancel jobs."""
        return self._post("cancel", request, answers.Cancelled)

    async def revive(self, request: ChangeRequest, _by: By = LOCAL) -> answers.Revived:
        """Make dead jobs available again."""
        return self._post("revive", request, answers.Revived)

    async def pause(self, request: TargetRequest, _by: By = LOCAL) -> answers.TargetChanged:
        """Call a target no more."""
        return self._post("pause", request, answers.TargetChanged)

    async def resume(self, request: TargetRequest, _by: By = LOCAL) -> answers.TargetChanged:
        """Call it again."""
        return self._post("resume", request, answers.TargetChanged)

    async def run(self) -> answers.Resumed:
        """Run jobs, if it is held."""
        return self._client.post("/api/run", {}, answers.Resumed)

    async def prune(self, request: PruneRequest, _by: By = LOCAL) -> answers.PruneProgress:
        """A bounded piece of retention."""
        return self._post("prune", request, answers.PruneProgress)

    async def remember(self, request: RememberRequest, _by: By = LOCAL) -> answers.Remembered:
        """Keep subscriptions."""
        return self._post("remember", request, answers.Remembered)

    async def backed_up(self, note: BackupNote, _by: By = LOCAL) -> answers.Noted:
        """Note a backup in the audit."""
        return self._post("backup", note, answers.Noted)

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
        return DeliveryRecord(
            delivery=msgspec.convert({**msgspec.structs.asdict(found), "body": body}, Delivery),
            events=tuple(
                [EventEntry(e.index, e.id, e.name, action=e.action) for e in found.events]
            ),
            duplicates=found.duplicates,
            last_seen_at=found.last_seen_at,
            jobs=found.jobs,
            attempts=found.attempts,
        )


def _query(selector: Selector) -> dict[str, Any]:
    """The selector as query parameters."""
    query = selector.as_json()
    query.pop("limit", None)
    if selector.var:
        query["var"] = msgspec.json.encode(selector.var).decode()
    if selector.ids:
        query["id"] = ",".join(query.pop("ids"))
    return query
