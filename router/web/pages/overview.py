"""Pages of the router itself: refusals, rules, targets, generations, and who did what."""

import base64
import binascii
import contextlib
from collections.abc import Mapping
from typing import Any

from router.errors import NotFound, UsageError
from router.web.admin.asking import CURSOR, LIMIT, SPAN, QueryParameter
from router.web.admin.call import RouteAnswer
from router.web.admin.reading import Place
from router.web.pages import shown
from router.web.pages.context import Desk
from router.web.pages.visit import PageView, Visit, see_other

REFUSALS_SHOWN = 200
GENERATIONS_SHOWN = 50
TEXT_SHOWN = 262_144
ROWS_SHOWN, QUIET_SHOWN = 300, 30
FIND = QueryParameter("find", "Only names with this in them.")


class OverviewPages:
    """Handlers of these pages."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def views(self) -> list[PageView]:
        """Their rows of the table."""
        return [
            PageView("GET", "/refused", "viewer", self._refused),
            PageView("GET", "/refused/{refusal}", "viewer", self._refusal, payloads=True),
            PageView("GET", "/rules", "viewer", self._rules),
            PageView("GET", "/targets", "viewer", self._targets),
            PageView("POST", "/targets/{verb}", "operator", self._hold),
            PageView("GET", "/reload", "viewer", self._generations),
            PageView("POST", "/reload", "operator", self._reload),
            PageView("GET", "/generations/{generation}", "viewer", self._generation),
            PageView("GET", "/audit", "viewer", self._audit),
            PageView("GET", "/reference", "viewer", self._reference),
        ]

    async def _refused(self, visit: Visit) -> RouteAnswer:
        found = self._desk.operator.refusals(REFUSALS_SHOWN)
        return self._desk.page("refused.html", visit, refusals=found)

    async def _refusal(self, visit: Visit) -> RouteAnswer:
        found = self._desk.operator.refusal(visit.place["refusal"], None)
        body = shown.shown_body(_bytes(found), whole=True)
        return self._desk.page("refusal.html", visit, refusal=found, body=body)

    async def _rules(self, visit: Visit) -> RouteAnswer:
        """Rules by part of their name; a file may have ten thousand of them."""
        find = self._desk.query(visit, FIND).text("find") or ""
        found = (await self._desk.reading.rules()).rules
        rules = [rule for rule in found if find in rule.rule]
        quiet = [rule for rule in rules if rule.note]
        return self._desk.page(
            "rules.html",
            visit,
            rules=rules[:ROWS_SHOWN],
            more=max(0, len(rules) - ROWS_SHOWN),
            quiet=quiet[:QUIET_SHOWN],
            more_quiet=max(0, len(quiet) - QUIET_SHOWN),
            find=find,
        )

    async def _targets(self, visit: Visit) -> RouteAnswer:
        """Targets by part of their name, those in trouble first."""
        find = self._desk.query(visit, FIND).text("find") or ""
        found = [row for row in await self._desk.operator.targets() if find in row.name]
        found.sort(key=lambda row: row.state == "closed")
        return self._desk.page(
            "targets.html",
            visit,
            targets=found[:ROWS_SHOWN],
            more=max(0, len(found) - ROWS_SHOWN),
            find=find,
        )

    async def _hold(self, visit: Visit) -> RouteAnswer:
        """Pause or resume a target."""
        verbs = {"pause": self._desk.operator.pause, "resume": self._desk.operator.resume}
        act = verbs.get(visit.place["verb"])
        if act is None:
            raise NotFound("there is no such page")
        body = {n: visit.form[n] for n in ("target", "reason") if visit.form.get(n)}
        await act(body, visit.by)
        return see_other("/targets")

    async def _generations(self, visit: Visit) -> RouteAnswer:
        found = await self._desk.reading.generations(GENERATIONS_SHOWN)
        status = await self._desk.operator.status()
        return self._desk.page(
            "generations.html", visit, found=found, reload=status["reload"], error=None
        )

    async def _reload(self, visit: Visit) -> RouteAnswer:
        with contextlib.suppress(UsageError):  # the page says so, as does every other
            await self._desk.operator.reload(visit.by)
        return see_other("/reload")

    async def _generation(self, visit: Visit) -> RouteAnswer:
        found = await self._desk.reading.generation(visit.place["generation"])
        text = found.text[:TEXT_SHOWN]
        return self._desk.page(
            "generation.html", visit, found=found, text=text, cut=len(found.text) > TEXT_SHOWN
        )

    async def _audit(self, visit: Visit) -> RouteAnswer:
        query = self._desk.query(visit, *SPAN, LIMIT, CURSOR)
        before = query.cursor("audit", Place)
        since, until = query.time("since"), query.time("until")
        found = await self._desk.reading.audit(since, until, query.limit(), before)
        return self._desk.page("audit.html", visit, found=found)

    async def _reference(self, visit: Visit) -> RouteAnswer:
        """The API, for those whose browser has no token to show at `/api`."""
        return self._desk.page("reference.html", visit, routes=self._desk.routes)


def _bytes(refusal: Mapping[str, Any]) -> bytes:
    given = refusal["body_base64"]
    if isinstance(given, bytes):
        return given
    try:
        return base64.b64decode(given)
    except (binascii.Error, TypeError):
        raise NotFound("its body cannot be read") from None
