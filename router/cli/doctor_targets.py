"""What `router doctor` says of the names that actions call."""

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

from router.actions.resolve import Resolve
from router.cli.doctor_check import Check, ok, problem, unknown
from router.egress import EgressPolicy, is_local_name, is_private_name, literal_address
from router.errors import EgressRefused
from router.rules.ruleset import Ruleset

LOOK_UP_S = 5.0


async def of_targets(ruleset: Ruleset, lookup: Resolve | None) -> list[Check]:
    """Does a name lead to an address that must not be called? None: no name is looked up."""
    allow = ruleset.server.egress_allow
    if lookup is not None:
        return await asyncio.gather(
            *(_of_name(*one, EgressPolicy(allow), lookup) for one in _called(ruleset))
        )
    fix = "allow its addresses in `server.egress.allow`; without --offline they are looked up"
    return [
        unknown(name, f"{host} is a name of a private network, and none is allowed", fix)
        for name, host in _called(ruleset)
        if is_private_name(host) and not allow
    ]


def _called(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """The names of targets' hosts and of bare addresses; what is secret is left out."""
    urls = {name: target.url for name, target in ruleset.targets.items()}
    bare = {action.target for rule in ruleset.rules for action in rule.actions}
    urls |= {name: name for name in sorted(bare) if "://" in name}
    for name, url in urls.items():
        host = urlsplit(url or "").hostname or "localhost"
        if not is_local_name(host) and literal_address(host) is None:
            yield f"target {name}", host


async def _of_name(name: str, host: str, policy: EgressPolicy, lookup: Resolve) -> Check:
    try:
        async with asyncio.timeout(LOOK_UP_S):
            addresses = await lookup(host)
    except OSError:  # TimeoutError is one
        return unknown(name, f"{host} is not found from here", "look at its spelling and at DNS")
    refusal = ""
    for address in addresses:
        try:
            policy.check(address, host)
        except EgressRefused as error:
            refusal = refusal or str(error)
        else:
            return ok(name, f"{host} is {address}, which may be called")
    says, _, fix = refusal.partition(". ")
    fix = fix[:1].lower() + fix[1:].rstrip(".")
    return problem(name, says, fix or "call another address")
