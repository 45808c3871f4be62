"""Pages of the router itself: refusals, rules, targets, nodes, generations, and who did what."""

import contextlib

from litestar import Controller
from litestar.params import FromPath

from router.errors import NotFound, UsageError
from router.operator.requests import TargetRequest
from router.web.admin.query import CURSOR, LIMIT, SPAN, QueryParameter
from router.web.admin.request import Given
from router.web.pages import shown
from router.web.pages.context import PageContext
from router.web.pages.request import Shown, action, page, see_other
from router.web.signal_stream import SignalStream

REFUSALS_SHOWN = 200
GENERATIONS_SHOWN, FINDINGS_SHOWN = 50, 20
TEXT_SHOWN = 262_144
ROWS_SHOWN, QUIET_SHOWN = 300, 30
FIND = QueryParameter("find", "Only names with this in them.")


class RouterPages(Controller):
    """Refusals, rules, targets, nodes, generations, and who did what."""

    @page("/refused")
    async def refused(self, context: Given[PageContext]) -> Shown:
        """Recently refused requests."""
        return context.page("refused.html", found=await context.running.refusals(REFUSALS_SHOWN))

    @page("/refused/{refusal:str}", payloads=True)
    async def refusal_of(self, context: Given[PageContext], refusal: FromPath[str]) -> Shown:
        """One refused request, whole."""
        found = await context.running.refusal(refusal, None)
        return context.page(
            "refusal.html", refusal=found, body=shown.shown_body(found.body_base64, whole=True)
        )

    @page("/rules")
    async def rules(self, context: Given[PageContext]) -> Shown:
        """Rules by part of their name; a file may have ten thousand of them."""
        find = context.query(FIND).text("find") or ""
        rules = [rule for rule in (await context.questions.rules()).rules if find in rule.rule]
        quiet = [rule for rule in rules if rule.note]
        return context.page(
            "rules.html",
            rules=rules[:ROWS_SHOWN],
            more=max(0, len(rules) - ROWS_SHOWN),
            quiet=quiet[:QUIET_SHOWN],
            more_quiet=max(0, len(quiet) - QUIET_SHOWN),
            find=find,
        )

    @page("/targets")
    async def targets(self, context: Given[PageContext]) -> Shown:
        """Targets by part of their name, those in trouble first."""
        find = context.query(FIND).text("find") or ""
        found = [row for row in (await context.questions.targets()).targets if find in row.name]
        found.sort(key=lambda row: row.state == "healthy")
        return context.page(
            "targets.html",
            targets=found[:ROWS_SHOWN],
            more=max(0, len(found) - ROWS_SHOWN),
            find=find,
        )

    @action("/targets/{verb:str}")
    async def hold(self, context: Given[PageContext], verb: FromPath[str]) -> Shown:
        """Pause or resume a target."""
        verbs = {"pause": context.verbs.pause, "resume": context.verbs.resume}
        if (act := verbs.get(verb)) is None:
            raise NotFound("there is no such page")
        form = context.form
        await act(TargetRequest(form.get("target", ""), form.get("reason", "")), context.request.by)
        return see_other("/targets")

    @page("/nodes")
    async def nodes(self, context: Given[PageContext]) -> Shown:
        """The routers that share the store."""
        return context.page("nodes.html", found=await context.questions.nodes())

    @page("/reload")
    async def generations(self, context: Given[PageContext]) -> Shown:
        """How the last reload went, and the rules files that were in force."""
        found = await context.questions.generations(GENERATIONS_SHOWN)
        reload = (await context.running.status()).reload
        findings = context.live.current.findings[:FINDINGS_SHOWN]
        return context.page("generations.html", found=found, reload=reload, findings=findings)

    @action("/reload")
    async def reload(self, context: Given[PageContext]) -> Shown:
        """Read the rules file again."""
        with contextlib.suppress(UsageError):  # the page says so, as does every other
            await context.running.reload(context.request.by)
        return see_other("/reload")

    @page("/generations/{generation:str}")
    async def generation_of(self, context: Given[PageContext], generation: FromPath[str]) -> Shown:
        """The rules file of a generation."""
        found = await context.questions.generation(generation)
        return context.page(
            "generation.html",
            found=found,
            text=found.text[:TEXT_SHOWN],
            cut=len(found.text) > TEXT_SHOWN,
        )

    @page("/audit")
    async def audit(self, context: Given[PageContext]) -> Shown:
        """Who changed what."""
        query = context.query(*SPAN, LIMIT, CURSOR)
        found = await context.questions.audit(*query.span(), query.text("cursor"))
        return context.page("audit.html", found=found)

    @page("/signal")
    async def signal(self, context: Given[PageContext]) -> SignalStream:
        """That something changed, for the scripts of live pages."""
        request = context.request
        return SignalStream(context.signal, request.user.name, request.still_admitted)
