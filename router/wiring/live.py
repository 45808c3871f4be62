"""Builds generations: the file's, and older ones that jobs still need."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from router import __version__
from router import log as logs
from router.clock import Clock
from router.config import KeptFiles, Loaded, load
from router.errors import (
    ConfigError,
    Diagnostic,
    PublishedMeanwhile,
    SecretMissing,
    UsageError,
)
from router.log import Log
from router.model.job import OPEN
from router.model.settings import ServerSettings
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.serving.publications import PublishedRules
from router.store.protocol import Store
from router.store.values import Generation, NodeCard
from router.wiring.dev import DevFile
from router.wiring.fetching import FetchedRules
from router.wiring.local_parts import local_parts
from router.wiring.rules import Overrides, content_hash, read_rules, texts
from router.wiring.secret_values import resolve_secrets, unset_variables

_OF_THE_MACHINE = (
    *("listen", "admin", "admin_advertise", "admin_hosts", "admin_tls", "tls", "store"),
    *("state_dir", "rules", "trusted_proxies"),
)
"""Settings of `server` that each router has from its own file, whatever is published."""


class GenerationSource:
    """Where this router's generations come from: the file, the environment, the dev file."""

    def __init__(
        self, path: Path, *, environ: Mapping[str, str], dev: bool, overrides: Overrides
    ) -> None:
        self.path = path
        self.environ = environ
        self.dev = dev
        self.dev_file = DevFile.load(DevFile.path_for(path)) if dev else None
        self._overrides = overrides
        self._followed: tuple[Generation, ServerSettings] | None = None
        self._looked_like = ""
        self._fingerprint_key = b""

    def fingerprinted(self, live: LiveRuleset, key: bytes) -> LiveRuleset:
        """It, and each that is built from now on, with what it needs of its machine."""
        self._fingerprint_key = key
        return self._live(live.ruleset, live.secrets)

    def _live(self, ruleset: Ruleset, secrets: SecretValues) -> LiveRuleset:
        if not self._fingerprint_key:
            return LiveRuleset(ruleset, secrets)
        values = {name: secrets.value(name) for name in ruleset.secrets}
        return LiveRuleset(ruleset, secrets, local_parts(ruleset, values, self._fingerprint_key))

    def follow(self, kept: Generation, here: ServerSettings) -> None:
        """From now on this generation is built, with what `here` says of this machine."""
        if self._followed is None:
            self._looked_like = self._look()
        self._followed = kept, here

    def build(self) -> tuple[LiveRuleset, list[str]]:
        """
        The file as it is now, with its secrets' values, and the warnings of both; or the generation
        that it follows.

        Raises:
            ConfigError: the file is wrong.
            SecretMissing: a secret, or the address of the store, is not set or unusable.
            UsageError: the file cannot be read.
        """
        loaded = self._loaded()
        if loaded.ruleset is None:
            raise ConfigError(self._with_unset_secrets(loaded.diagnostics))
        missing = loaded.ruleset.server.store.missing
        try:
            secrets, warnings = resolve_secrets(
                loaded.ruleset, environ=self.environ, dev_file=self.dev_file, path=self.path
            )
        except SecretMissing as error:
            raise SecretMissing("\n".join(filter(None, (str(error), missing)))) from None
        if missing is not None:
            raise SecretMissing(missing)
        return self._live(loaded.ruleset, secrets), [*warnings, *self._edited()]

    def _edited(self) -> list[str]:
        """That the file was changed in vain: once for each change."""
        if self._followed is None:
            return []
        before, self._looked_like = self._looked_like, self._look()
        if self._looked_like == before:
            return []
        return [f"{self.path} has changed, but published rules hold: see `router rules publish`"]

    def _look(self) -> str:
        return content_hash(self.path)

    @property
    def is_following(self) -> bool:
        """Whether it builds what was published; its tests have run where that was done."""
        return self._followed is not None

    def _loaded(self) -> Loaded:
        if self._followed is None:
            return read_rules(
                self.path, environ=self.environ, dev=self.dev, overrides=self._overrides
            )
        kept, here = self._followed
        loaded = read_generation(kept, path=self.path, environ=self.environ, dev=self.dev)
        if loaded.ruleset is None:
            return loaded
        own = {name: getattr(here, name) for name in _OF_THE_MACHINE}
        server = msgspec.structs.replace(loaded.ruleset.server, **own)
        return msgspec.structs.replace(
            loaded, ruleset=msgspec.structs.replace(loaded.ruleset, server=server)
        )

    def rebuild(self, kept: Generation) -> Ruleset | None:
        """A generation of the store, compiled again; None: it does not compile any more."""
        return read_generation(kept, path=self.path, environ=self.environ, dev=self.dev).ruleset

    def compiled(self, kept: Generation) -> LiveRuleset:
        """
        A generation of the store with its own variables, and its secrets as they are here now.

        Raises:
            ConfigError: it does not compile here.
            SecretMissing: this machine lacks one of its secrets.
        """
        loaded = read_generation(kept, path=self.path, environ=self.environ, dev=self.dev)
        if loaded.ruleset is None:
            raise ConfigError(loaded.diagnostics)
        secrets, _ = resolve_secrets(
            loaded.ruleset, environ=self.environ, dev_file=self.dev_file, path=self.path
        )
        return LiveRuleset(loaded.ruleset, secrets)

    def _with_unset_secrets(self, found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        """Where only variables are missing, those of secrets belong to the same list."""
        errors = {d.code for d in found if d.severity == "error"}
        if errors != {"variable-not-set"} or self.dev:
            return found
        return (*found, *unset_variables(texts(self.path), self.environ))


def generation_of(ruleset: Ruleset, clock: Clock) -> Generation:
    """What the store keeps of a ruleset."""
    return Generation(ruleset.generation, ruleset.text, ruleset.context, clock.now())


def node_card(
    live: LiveRuleset, name: str, admin: str | None, rollout: PublishedRules | None = None
) -> NodeCard:
    """
    What the node of this name says of itself while these rules are in force; others call it at
    `admin`.
    """
    ready_for = rollout.ready_for if rollout else ""
    generation = live.ruleset.generation
    return NodeCard(name, admin, __version__, generation, ready_for, local=live.local)


def follows(server: ServerSettings, store: Store, *, dev: bool) -> bool:
    """Whether this router goes by what is published. Raises UsageError: nobody could publish."""
    if server.rules == "published" and not store.shared and not dev:
        raise UsageError(
            "server.rules: published takes a PostgreSQL database: the rules of all its routers"
        )
    return server.rules == "published" and store.shared


def rollout_of(
    source: GenerationSource, live: LiveRef, store: Store, *, dev: bool, clock: Clock
) -> PublishedRules | None:
    """Puts in force what is published, if this router goes by that. Raises UsageError."""
    server = live.current.ruleset.server
    if not follows(server, store, dev=dev):
        return None
    return PublishedRules(
        live,
        store.reads,
        compile_=lambda kept: asyncio.to_thread(source.compiled, kept),
        follow=partial(source.follow, here=server),
        clock=clock,
        log=logs.get("rules"),
    )


def fetched_rules(
    source: GenerationSource, live: LiveRef, store: Store, *, clock: Clock
) -> FetchedRules | None:
    """Rules of other nodes, if there may be any."""
    if not store.shared:
        return None
    return FetchedRules(live, store.reads, source.compiled, clock=clock, log=logs.get("rules"))


async def published_rules(
    source: GenerationSource, live: LiveRuleset, store: Store, *, node: str, clock: Clock
) -> LiveRuleset:
    """
    What is published, built here; the first router of a store publishes what its file says.

    Raises:
        ConfigError, SecretMissing: it cannot be in force on this machine.
    """
    newest = await store.reads.published()
    if newest is None:
        await store.keep_generation(generation_of(live.ruleset, clock))
        generation = live.ruleset.generation
        with suppress(PublishedMeanwhile):  # by another router that starts now
            await store.publish(generation, by=node, at=clock.now(), after=0)
        newest = await store.reads.published()
    kept = await store.reads.generation(newest.generation) if newest else None
    if kept is None:
        return live
    source.follow(kept, live.ruleset.server)
    if kept.id == live.ruleset.generation:
        return live
    return (await asyncio.to_thread(source.build))[0]


async def put_in_force(store: Store, live: LiveRuleset, *, node: str, clock: Clock) -> None:
    """
    Keep a generation and publish it, as what this node was given, before it is applied: what is one
    for all nodes goes by it from then on, unless another node was given its own later. Who has a
    store alone need not mind those that had it before.
    """
    await store.keep_generation(generation_of(live.ruleset, clock))
    generation, at = live.ruleset.generation, clock.now()
    found = await store.publish(generation, by=node, at=at)
    if found.generation != generation and not store.shared:
        await store.publish(generation, by=node, at=at, after=found.seq)


async def leave_in_force(_live: LiveRuleset) -> None:
    """What is published was put in force where that was done."""


async def restore_former(ref: LiveRef, store: Store, source: GenerationSource, log: Log) -> None:
    """
    Find, for open jobs whose rule the present file no longer has, the last generation that had it.

    A generation that does not compile any more is skipped and said; its jobs then die by name. On a
    shared store that is left to `FetchedRules`: the rule may be another router's, which has the
    secrets.
    """
    if store.shared:
        return
    known = {rule for rule, _ in ref.current.actions}
    for rule, counts in (await store.reads.counts()).items():
        if rule in known or not any(n for state, n in counts.items() if state in OPEN):
            continue
        for generation_id in await store.reads.latest_generation_with(rule):
            kept = await store.reads.generation(generation_id)
            old = _rebuilt(kept, ref.current, source) if kept else None
            if old is not None and any(r == rule for r, _ in old.actions):
                ref.former |= {k: old for k in old.actions if k[0] == rule}
                log.warning("orphaned rule still has jobs", rule=rule, generation=generation_id)
                break
        else:
            log.error("no generation of an orphaned rule can be read", rule=rule)


def _rebuilt(
    kept: Generation, current: LiveRuleset, source: GenerationSource
) -> LiveRuleset | None:
    """An old generation, with its own variables and today's secrets, limits and egress."""
    ruleset = source.rebuild(kept)
    if ruleset is None:
        return None
    secrets = current.secrets
    with suppress(SecretMissing):
        secrets, _ = resolve_secrets(ruleset, environ=source.environ, dev_file=source.dev_file)
    return LiveRuleset(ruleset, secrets)


def read_generation(
    kept: Generation, *, path: Path, environ: Mapping[str, str], dev: bool
) -> Loaded:
    """
    A generation's text with the included files and variables of its day; `path` is where the
    rules file lies today.
    """
    then = {k: v for k, v in kept.context.get("env", {}).items() if isinstance(v, str)}
    files = KeptFiles(kept.context.get("files", {}))
    return load(kept.text, path=str(path), env={**environ, **then}, dev=dev, files=files)
