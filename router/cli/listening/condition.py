"""`--where`: a condition of the rules' language, tried here on each event of a delivery."""

from collections.abc import Mapping
from typing import Any

from router.errors import ExpressionError, UsageError
from router.expressions import Expression, compile  # noqa: A004 - the package's own word
from router.operator.followed_answers import FollowedDelivery
from router.operator.where import check_bound, exact_values
from router.providers import Provider
from router.rules.scope import ROOTS, delivery_roots, event_scope


class ListenCondition:
    """
    Compiled against these providers; `var` and `def` are those of a rules file, if one is given,
    and before them what is `bound`.

    `failures` counts events on which it erred: they do not match, as in a rule.

    Raises:
        UsageError: it is wrong, or reads a root that is not here, or not what is bound.
    """

    def __init__(
        self,
        text: str,
        providers: Mapping[str, Provider],
        *,
        variables: Mapping[str, Any] | None = None,
        defines: Mapping[str, Expression] | None = None,
        bound: Mapping[str, Any] | None = None,
    ) -> None:
        self._providers = providers
        self._variables = {**(variables or {}), **exact_values(bound)}
        self._defines = defines or {}
        self.failures = 0
        self.failure = ""
        try:
            self._expression = compile(text)
        except ExpressionError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise UsageError(f"--where, character {error.start + 1}: {error}{hint}") from None
        self._check_roots(given=variables is not None)
        check_bound(self._expression, bound or ())

    def takes(self, arrived: FollowedDelivery) -> bool:
        """Whether one of its events meets the condition."""
        wanted = {event.index: event for event in arrived.events}
        delivery = arrived.delivery()
        provider = self._providers.get(arrived.provider)
        if provider is None:
            raise UsageError(
                f"--where cannot read what {arrived.provider!r} sends: it is defined in the "
                "router's rules file; name that file with -f"
            )
        shared = delivery_roots(delivery, self._variables)
        for read in provider.read_stored(delivery).events:
            if read.index not in wanted:
                continue  # a copy that was known already
            event = read.event(wanted[read.index].id)
            verdict = self._expression.verdict(event_scope(shared, delivery, event, self._defines))
            if verdict is True:
                return True
            if verdict is not False:
                self.failures += 1
                self.failure = verdict.reason
        return False

    def _check_roots(self, *, given: bool) -> None:
        roots = [provider.root_fields for provider in self._providers.values()]
        of_file = frozenset({"def"} if self._variables else {"var", "def"})
        known = (ROOTS if given else ROOTS - of_file).union(*roots)
        unknown = sorted(self._expression.roots - known)
        if unknown:
            hint = "; name the rules file with -f" if unknown[0] in of_file and not given else ""
            raise UsageError(f"--where: there is no root {unknown[0]!r} here{hint}")
