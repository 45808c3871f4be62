"""What `router doctor` makes of the requests that the running server refused."""

from collections.abc import Iterator

from router.cli.doctor_check import Check, ok, problem
from router.cli.doctor_online import EndpointHistory, ServerStatus
from router.model.settings import Endpoint
from router.refusals import KEPT_MAX


def of_refusals(
    told: ServerStatus, endpoint: Endpoint, kept: EndpointHistory, *, keeping: bool
) -> Iterator[Check]:
    """Were requests refused since the last one that was let in? `keeping`: are they kept whole?"""
    since = kept.last or 0
    mine = [
        r
        for r in told.refusals
        if r.get("endpoint") == endpoint.name and int(r.get("at") or 0) > since
    ]
    if not mine:
        if told.status is not None:
            yield ok("refusals", "none since the last delivery", endpoint.name)
        return
    newest = mine[0]
    hint = f": {newest['hint']}" if newest.get("hint") else ""
    says = f"{len(mine)} refused since the last delivery, the newest {newest['reason']}{hint}"
    whole = [r["kept"] for r in told.refusals if r.get("kept")][:KEPT_MAX]
    found = next((r["kept"] for r in mine if r.get("kept") in whole), None)
    if found is not None:
        fix = f"`router doctor {endpoint.name} --refused {found}` finds the cause"
    elif newest["reason"] in _PLAIN:
        fix = _PLAIN[newest["reason"]]
    elif keeping:
        fix = "`router deliveries --refused` lists them; none of them is kept whole"
    else:
        fix = (
            "`router deliveries --refused` lists them; with `server: {refusals: {bodies: true}}` "
            "the next one is kept, and `--refused last` finds its cause; or capture one: --request"
        )
    yield problem("refusals", says, fix, endpoint.name)


_PLAIN = {
    "method_not_allowed": "the sender is to use POST; a redirect before the router turns it into "
    "GET: give the sender the final address",
    "too_large": "the body is larger than this sender's may be: `router providers` says how large",
    "unsupported_encoding": "something on the way compresses bodies: let it pass them as they are",
    "address_not_allowed": "compare `allow_from` with the addresses that the sender uses",
    "ranges_unknown": "the router's log says why the sender's ranges cannot be fetched",
}
"""Refusals whose reason is the cause, and which are never kept whole."""
