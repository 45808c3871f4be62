"""Builds generations: the file's, and older ones that jobs still need."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from router import __version__
from router import log as logs
from router.clock import Clock, SystemClock
from router.config import KeptFiles, Loaded, load
from router.errors import (
    ConfigError,
    Diagnostic,
    SecretMissing,
)
from router.log import Log
from router.model.job import OPEN
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.store.protocol import Store
from router.store.values import Generation, NodeCard
from router.wiring.dev import DevFile
from router.wiring.fetching import FetchedRules
from router.wiring.fingerprints import fingerprints
from router.wiring.rules import Overrides, read_rules, texts
from router.wiring.secret_values import resolve_secrets, unset_variables


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
        self._fingerprint_key = b""

    def fingerprinted(self, live: LiveRuleset, key: bytes) -> LiveRuleset:
        """Fingerprint the secrets of this generation, and of each that is built from now on."""
        self._fingerprint_key = key
        return self._live(live.ruleset, live.secrets, live.findings)

    def _live(
        self, ruleset: Ruleset, secrets: SecretValues, findings: tuple[Diagnostic, ...]
    ) -> LiveRuleset:
        known: Mapping[str, tuple[str, ...]] = {}
        if self._fingerprint_key:
            values = {name: secrets.value(name) for name in ruleset.secrets}
            known = fingerprints(ruleset, values, self._fingerprint_key)
        return LiveRuleset(ruleset, secrets, known, findings)

    def build(self) -> LiveRuleset:
        """
        The file as it is now, with its secrets' values, whose warnings are logged, and all that
        `check` finds in it but its tests.

        Raises:
            ConfigError: the file is wrong.
            SecretMissing: a secret, or the address of the store, is not set or unusable.
            UsageError: the file cannot be read.
        """
        loaded = read_rules(
            self.path,
            environ=self.environ,
            dev=self.dev,
            overrides=self._overrides,
            thorough=True,
            now=SystemClock().now(),
        )
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
        for warning in warnings:
            logs.get("router").warning(warning)
        return self._live(loaded.ruleset, secrets, loaded.diagnostics)

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


def node_card(live: LiveRuleset, name: str) -> NodeCard:
    """What the node of this name says of itself while these rules are in force."""
    return NodeCard(name, __version__, live.ruleset.generation, secrets=live.fingerprints)


def fetched_rules(
    source: GenerationSource, live: LiveRef, store: Store, *, clock: Clock
) -> FetchedRules | None:
    """Rules of other nodes, if there may be any."""
    if not store.shared:
        return None
    return FetchedRules(live, store.reads, source.compiled, clock=clock, log=logs.get("rules"))


async def put_in_force(store: Store, live: LiveRuleset, *, node: str, clock: Clock) -> None:
    """
    Keep a generation and put it in force, before this node applies it: what is one for all nodes
    goes by it from then on, until another node starts or reloads with its own.
    """
    await store.keep_generation(generation_of(live.ruleset, clock))
    by = node if store.shared else ""  # who has a store alone has it under any name
    await store.put_in_force(live.ruleset.generation, by=by, at=clock.now())


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
