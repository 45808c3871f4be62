"""Whether what a selector names is there: a misspelt rule must not look like an empty answer."""

from collections.abc import Collection

from router.errors import UsageError
from router.model.selector import Criteria
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.store.values import NameKind
from router.suggest import did_you_mean

_LISTED: dict[NameKind, str] = {
    "endpoint": "`router check` lists those of the file",
    "rule": "`router rules` lists them",
    "cause": "`router dead` lists them",
}


async def check_names(selector: Criteria, ruleset: Ruleset, store: StoreReads) -> None:
    """
    Known is what the rules in force or anything stored has, so that orphans can be selected.

    Raises:
        UsageError: the endpoint, rule, cause or replay is known to neither; or a variable is given
            that no condition reads.
    """
    if selector.var and selector.where is None:
        raise UsageError("--var gives a value to --where, which is left out")
    await _check("endpoint", selector.endpoint, ruleset.endpoints.keys(), store)
    await _check("rule", selector.rule, {rule.id for rule in ruleset.rules}, store)
    await _check("cause", selector.cause, (), store)
    if selector.replay is not None and await store.replay(selector.replay) is None:
        raise UsageError(f"there is no replay {selector.replay!r}; `router audit` lists them")


async def _check(
    kind: NameKind, name: str | None, present: Collection[str], store: StoreReads
) -> None:
    if name is None or name in present:
        return
    stored = await store.names(kind)
    if name not in stored:
        hint = did_you_mean(name, sorted({*present, *stored}))
        raise UsageError(f"there is no {kind} {name!r}; {hint or _LISTED[kind]}")
