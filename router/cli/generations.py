"""Generations that the store kept, as rules again."""

import msgspec

from router.cli.place import Place
from router.errors import NotFound
from router.rules.ruleset import Ruleset
from router.store.protocol import Generation


def ruleset_of(kept: Generation, place: Place) -> Ruleset:
    """
    The rules of a kept generation, with the variables of its day.

    Raises:
        NotFound: this router reads them no more.
    """
    from router.wiring.generations import read_generation

    dev = bool(kept.context.get("dev", place.dev))
    loaded = read_generation(kept, path=place.rules, environ=place.environ, dev=dev)
    if loaded.ruleset is None:
        first = next(d for d in loaded.diagnostics if d.severity == "error")
        raise NotFound(
            f"generation {kept.id[:16]} cannot be read any more "
            f"(line {first.line}: {first.message})"
        )
    ruleset: Ruleset = msgspec.structs.replace(loaded.ruleset, generation=kept.id)
    return ruleset
