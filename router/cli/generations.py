"""The store, opened for reading, and the generations that it kept, as rules again."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import yaml

from router.cli.options import Options, is_given
from router.cli.output import note
from router.errors import ConfigError, NotFound, StoreAbsent, UsageError
from router.model.store_address import StoreAddress, store_address
from router.rules.ruleset import Ruleset
from router.store.values import Generation

if TYPE_CHECKING:
    from router.model.store_address import StoreAddress
    from router.store.reads import StoreReader, StoreReads

T = TypeVar("T")


def read_store(
    address: "StoreAddress", reading: "Callable[[StoreReader], Awaitable[T]]", *, absent: T
) -> T:
    """What `reading` gets from the store's reader; `absent` if there is no store yet."""
    from router.wiring.stores import open_reader

    async def read() -> T:
        try:
            reader = await open_reader(address)
        except StoreAbsent:
            return absent
        try:
            return await reading(reader)
        finally:
            await reader.close()

    return asyncio.run(read())


USUAL_STORE = "router.db"


def rules_to_read(place: Options) -> tuple[Options, Ruleset]:
    """
    As `Options.working`, for commands that change nothing: without a rules file that can be read
    these are the rules that the store was last served with. A file that is wrong says which store
    that is, as far as it can be understood; without a file `--store` has to.

    Raises:
        NotFound: there is neither such a file nor such a store.
    """
    from router.wiring.rules import settled
    from router.wiring.stores import exists

    try:
        return place.working()
    except (UsageError, ConfigError) as error:
        is_wrong = isinstance(error, ConfigError)
        if place.server is not None or is_given("rules") or not (is_wrong or place.store):
            raise  # who names a file means it
        store = _store_of(place)
        kept = None if store is None else read_store(store, _newest, absent=None)
        if store is not None and not (is_wrong or exists(store)):
            raise NotFound(f"there is no store {store}") from None
        if kept is None:
            raise
    if is_wrong:
        note(f"{place.rules} has errors (`router check` shows them); using the rules served last")
    dev = bool(kept.context.get("dev"))
    here = msgspec.structs.replace(place, dev=dev, store=str(store))
    return here, settled(ruleset_of(kept, here), dev, here.overrides())


def _store_of(place: Options) -> StoreAddress | None:
    """The store that is named, or that lies where the store of such a file does."""
    from router.wiring.rules import DEV_STORE
    from router.wiring.stores import exists

    if place.store is not None:
        return store_address(place.store, Path())
    folder = place.rules.absolute().parent
    names = [DEV_STORE] if place.dev else [_named_in(place.rules), DEV_STORE]
    try:
        stores = [store_address(name, folder) for name in names]
    except UsageError:
        return None
    return next(filter(exists, stores), None)


def _named_in(rules: Path) -> str:
    """What the file says of its store, be the rest of it as wrong as it may."""
    try:
        node = yaml.compose(rules.read_text("utf-8-sig"), yaml.SafeLoader)
    except (yaml.YAMLError, OSError, UnicodeError):
        return USUAL_STORE
    store = _under(_under(node, "server"), "store")
    return str(store.value) if isinstance(store, yaml.ScalarNode) else USUAL_STORE


def _under(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


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
