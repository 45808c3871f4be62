"""Generations that the store kept, as rules again."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from router.cli.open_store import read_store
from router.cli.options import Options, is_given
from router.cli.output import note
from router.errors import ConfigError, NotFound, UsageError
from router.model.store_address import store_address
from router.rules.ruleset import Ruleset
from router.store.values import Generation

if TYPE_CHECKING:
    from router.store.reads import StoreReads


def rules_to_read(place: Options) -> tuple[Options, Ruleset]:
    """
    As `Options.working`, for commands that change nothing: `--store` is enough for them. Without a
    rules file that can be read these are the rules that the store was last served with.

    Raises:
        NotFound: there is neither such a file nor such a store.
    """
    if place.store is None or place.server is not None or is_given("rules"):
        return place.working()
    from router.wiring.stores import exists

    try:
        return place.working()
    except (UsageError, ConfigError) as error:
        store = store_address(place.store, Path())
        kept = read_store(store, _newest, absent=None)
        if kept is None and isinstance(error, UsageError) and not exists(store):
            raise NotFound(f"there is no store {store}") from None
        if kept is None:
            raise
        if isinstance(error, ConfigError):
            note(
                f"{place.rules} has errors (`router check` shows them); using the rules served last"
            )
    from router.wiring.rules import settled

    return place, settled(ruleset_of(kept, place), bool(kept.context.get("dev")), place.overrides())


async def _newest(reader: "StoreReads") -> Generation | None:
    listed = await reader.generations(1)
    return await reader.generation(listed[0].id) if listed else None


def ruleset_of(kept: Generation, place: Options) -> Ruleset:
    """
    The rules of a kept generation, with the variables of its day.

    Raises:
        NotFound: this router reads them no more.
    """
    from router.wiring.live import read_generation

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
