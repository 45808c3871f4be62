"""Whether what a selector names is there: a misspelt rule must not look like an empty answer."""

from collections.abc import Collection
from typing import Protocol

from router.errors import UsageError
from router.model.operations import Replay
from router.rules.ruleset import Ruleset
from router.store.values import NameKind, Selector
from router.suggest import did_you_mean

_LISTED: dict[NameKind, str] = {
    "endpoint": "`router check` lists those of the file",
    "rule": "`router rules` lists them",
    "cause": "`router dead` lists them",
}


class NameLookup(Protocol):
    """What knows the names that stored work has."""

    async def names(self, kind: NameKind) -> tuple[str, ...]: ...

    async def replay(self, id_: str) -> Replay | None: ...


class EmptyStore:
    """The ledger where nothing has been received yet."""

    async def names(self, _kind: NameKind) -> tuple[str, ...]:
        return ()

    async def replay(self, _id: str) -> Replay | None:
        return None


async def check_names(selector: Selector, ruleset: Ruleset, ledger: NameLookup) -> None:
    """
    Known is what the rules in force or anything stored has, so that orphans can be selected.

    Raises:
        UsageError: the endpoint, rule, cause or replay is known to neither.
    """
    rules = {rule.id for rule in ruleset.rules}
    await _check("endpoint", selector.endpoint, ruleset.endpoints.keys(), ledger)
    await _check("rule", selector.rule, rules, ledger)
    await _check("cause", selector.cause, (), ledger)
    if selector.replay is not None and await ledger.replay(selector.replay) is None:
        raise UsageError(f"there is no replay {selector.replay!r}; `router audit` lists them")


async def _check(
    kind: NameKind, name: str | None, present: Collection[str], ledger: NameLookup
) -> None:
    if name is None or name in present:
        return
    stored = await ledger.names(kind)
    if name not in stored:
        hint = did_you_mean(name, sorted({*present, *stored}))
        raise UsageError(f"there is no {kind} {name!r}; {hint or _LISTED[kind]}")
