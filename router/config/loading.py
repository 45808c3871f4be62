"""Text in; a compiled ruleset or every diagnostic out. Never raises on a bad file."""

import gc
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from router import providers
from router.config import endpoints, settings
from router.config.actions import ActionCompiler, check_machine
from router.config.answers import answering
from router.config.api import dispatching
from router.config.cases import with_cases
from router.config.checks import CompiledFile, run_checks
from router.config.context import LoadContext
from router.config.files import Files, FolderFiles
from router.config.foreign_keys import FOREIGN
from router.config.further_keys import FURTHER
from router.config.includes import Including
from router.config.language import Language
from router.config.pragmas import Pragmas
from router.config.providers import with_own
from router.config.redaction import redacting
from router.config.removed import REFUSED
from router.config.rule_types import Typing
from router.config.rules import RuleCompiler, defines
from router.config.samples import check_samples
from router.config.schema import FileEntry
from router.config.senders import EndpointSenders
from router.config.targets import targets
from router.config.trials import Trials
from router.config.units import PARSERS
from router.errors import Diagnostic
from router.model.settings import OWN, OWN_ENDPOINT
from router.model.trial import Trial
from router.rules.ruleset import Ruleset
from router.suggest import Suggester
from router.yaml_source import NO_MEMORY, Bounds, Decoder, Report, Source, read

VERSION = 1


class Loaded(msgspec.Struct, frozen=True):
    """
    What a load gives: the ruleset, None if there is any error, everything to say, and `tests:`.

    `test_data` are the files of payloads and snapshots that these need. `file` is what was read,
    with all that it includes; None if there is any error.
    """

    ruleset: Ruleset | None
    diagnostics: tuple[Diagnostic, ...]
    trials: tuple[Trial, ...] = ()
    test_data: frozenset[str] = frozenset()
    file: FileEntry | None = None


def load(
    text: str,
    *,
    path: str,
    env: Mapping[str, str],
    dev: bool = False,
    files: Files | None = None,
    tests: bool = False,
    thorough: bool = False,
    now: int | None = None,
) -> Loaded:
    """
    Read a rules file and what it includes.

    `path` is shown in diagnostics and its folder is what relative files are relative to; `env`
    is where `{env: NAME}` looks, except for secrets, which are never read here. `dev` lets
    targets without an address call the local sink. Included files come from `files`, by default
    that folder; `tests` reads files of tests beside them too. `thorough` also makes what the
    actions send from samples, and looks for the programs that they run and for unused pragmas.
    With `now` (Unix milliseconds) it also says which secrets have expired. A thorough load without
    `tests` is a server's: it gives every finding about a file that can be used.
    """
    with _without_collecting():
        report = Report(Source(text, path))
        files = files or FolderFiles(Path(path).absolute().parent)
        with suppress(MemoryError):
            return _load(report, env, files, dev=dev, tests=tests, thorough=thorough, now=now)
        report = Report(Source(text, path))
        report.error("too-big", NO_MEMORY, 0, 1)
        return Loaded(None, report.sorted())


def _load(
    report: Report,
    env: Mapping[str, str],
    files: Files,
    *,
    dev: bool,
    tests: bool,
    thorough: bool,
    now: int | None,
) -> Loaded:
    text, suggest, bounds = report.source.text, Suggester(), Bounds()
    decoder = Decoder(report, suggest, PARSERS, FOREIGN | REFUSED, FURTHER)
    node = with_cases(read(report, bounds=bounds), report, suggest)
    file = decoder.decode(node, FileEntry) if node else None
    included = Including(decoder, files, bounds, suggest).merge(file, tests=tests) if file else None
    if file is None or included is None:
        return Loaded(None, report.sorted())
    pragmas = Pragmas(report)
    known = providers.builtin()
    context = LoadContext(report, file, env=env, dev=dev, providers=known, suggest=suggest)
    context.files, context.included = files, included
    context.thorough = thorough
    context.tested, context.now = tests, now
    report.rules = [(r.node.start, r.node.end, r.id.value) for r in file.rules or () if r.id]
    compiled, senders = _compile(context, text)
    ruleset = compiled.ruleset
    run_checks(compiled, "always")
    if not report.failed:
        run_checks(compiled, "right")
    trials = Trials(context, ruleset, senders).compile(file.tests) if file.tests else ()
    named = frozenset(context.test_data)
    if report.failed:
        return Loaded(None, report.sorted(), test_data=named)
    if thorough:
        run_checks(compiled, "thorough")
        check_machine(context)
        check_samples(context, ruleset)
        pragmas.report_unused()
    return Loaded(ruleset, report.sorted(), trials, named, file)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """
    Keep the cycle collector out of one load.

    It would walk a million new objects again and again and find nothing to free: more than half
    of the time that a file of ten thousand rules takes.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _compile(context: LoadContext, text: str) -> tuple[CompiledFile, EndpointSenders]:
    file = context.file
    if file.version is not None and file.version != VERSION:
        context.error("unknown-version", f"expected 'version: {VERSION}'", file.at("version"))
    context.providers = with_own(context)
    server = settings.server(context, file.server)
    language = Language(context)
    secrets = settings.secrets(context)
    variables = settings.variables(context)
    named = targets(context)
    found = endpoints.endpoints(context, server)
    keys = endpoints.dedupe_keys(context, language)
    found, answers = answering(language, redacting(context, language, found))
    senders = EndpointSenders(context)
    defined = defines(context, language, senders)
    policies = settings.retries(context)
    apis = dispatching(found, endpoints.used(context, found))
    reader = RuleCompiler(language, ActionCompiler(language, named, policies, apis), senders)
    rules = reader.compile(file.rules or [])
    if any(rule.sources is not None and OWN in rule.sources for rule in rules):
        found[OWN] = OWN_ENDPOINT
    typing = Typing(context, language, defined, variables, senders)
    typing.check(reader.texts)
    resolved: dict[str, Any] = {"dev": context.dev, "env": dict(sorted(context.resolved.items()))}
    if context.included:
        resolved["files"] = dict(context.included)
    ruleset = Ruleset(
        generation=generation(text, resolved),
        text=text,
        context=resolved,
        folder=str(context.folder),
        server=server,
        secrets=secrets,
        variables=variables,
        targets=named,
        endpoints=found,
        providers=endpoints.used(context, found),
        defines=defined,
        dedupe_keys=keys,
        rules=rules,
        answers=answers,
    )
    constant, scenes = frozenset(typing.constant), typing.scenes
    compiled = CompiledFile(context, language.written, reader.texts, constant, scenes, ruleset)
    return compiled, senders


def generation(text: str, resolved: Mapping[str, Any]) -> str:
    """The content hash of a ruleset: SHA-256 over its text, its files and the values filled in."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    digest.update(b"\0" + msgspec.json.encode(resolved, order="deterministic"))
    return digest.hexdigest()
