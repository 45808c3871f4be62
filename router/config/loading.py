"""Text in; a compiled ruleset or every diagnostic out. Never raises on a bad file."""

import gc
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from router import providers
from router.config import endpoints as endpoint_rooms
from router.config import settings
from router.config.actions import Actions
from router.config.context import Context
from router.config.language import Language
from router.config.rules import Rules, defines
from router.config.schema import FileEntry
from router.config.targets import targets
from router.config.trials import Trials
from router.config.unbuilt import REFUSED
from router.config.units import PARSERS
from router.errors import ConfigError, Diagnostic
from router.model.trial import Trial
from router.rules.ruleset import Ruleset
from router.yaml_source import Decoder, Report, Source, Suggester, read

VERSION = 1


class Loaded(msgspec.Struct, frozen=True):
    """
    What a load gives: the ruleset, None if there is any error, everything to say, and `tests:`.
    """

    ruleset: Ruleset | None
    diagnostics: tuple[Diagnostic, ...]
    trials: tuple[Trial, ...] = ()


def load(text: str, *, path: str, env: Mapping[str, str], dev: bool = False) -> Loaded:
    """
    Read a rules file.

    `path` is shown in diagnostics and its folder is what relative files are relative to; `env`
    is where `{env: NAME}` looks, except for secrets, which are never read here. `dev` lets
    targets without an address call the local sink.
    """
    with _without_collecting():
        return _load(text, path, env, dev=dev)


def _load(text: str, path: str, env: Mapping[str, str], *, dev: bool) -> Loaded:
    report = Report(Source(text, path))
    suggest = Suggester()
    node = read(report)
    file = Decoder(report, suggest, PARSERS, REFUSED).decode(node, FileEntry) if node else None
    if file is None:
        return Loaded(None, report.sorted())
    known = providers.builtin()
    context = Context(report, file, env=env, dev=dev, providers=known, suggest=suggest)
    ruleset = _compile(context, text)
    trials = Trials(context, ruleset.rules).compile(file.tests) if file.tests else ()
    if report.failed:
        return Loaded(None, report.sorted())
    return Loaded(ruleset, report.sorted(), trials)


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


def decode_text(data: bytes, *, path: str) -> str:
    """
    The text of a rules file's bytes.

    Raises:
        ConfigError: the bytes are not UTF-8; the diagnostic points at the first wrong one.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} does not belong here"
        report = Report(Source(before + "\ufffd", path))
        report.error(
            "unreadable-text", message, len(report.source.text) - 1, len(report.source.text)
        )
        raise ConfigError(report.sorted()) from None


def _compile(context: Context, text: str) -> Ruleset:
    file = context.file
    if file.version is not None and file.version != VERSION:
        context.error("unknown-version", f"expected 'version: {VERSION}'", file.at("version"))
    server = settings.server(context, file.server)
    language = Language(context)
    secrets = settings.secrets(context)
    variables = settings.variables(context)
    named = targets(context)
    found = endpoint_rooms.endpoints(context, server.base_url)
    keys = endpoint_rooms.dedupe_keys(context, language)
    defined = defines(context, language)
    policies = settings.retries(context)
    rules = Rules(language, Actions(language, named, policies)).compile(file.rules or [])
    if not context.report.failed:
        _unused_secrets(context)
    resolved = _resolved(context)
    return Ruleset(
        generation=generation(text, resolved),
        text=text,
        context=resolved,
        folder=str(context.folder),
        server=server,
        secrets=secrets,
        variables=variables,
        targets=named,
        endpoints=found,
        providers={e.provider: context.providers[e.provider] for e in found.values() if e.provider},
        defines=defined,
        dedupe_keys=keys,
        rules=rules,
    )


def _unused_secrets(context: Context) -> None:
    for name, _ in context.file.secrets or ():
        if name.value not in context.used_secrets:
            message = f"the secret '{name.value[:60]}' is used nowhere"
            context.warning("unused-secret", message, name)


def _resolved(context: Context) -> dict[str, Any]:
    return {"dev": context.dev, "env": dict(sorted(context.resolved.items()))}


def generation(text: str, resolved: Mapping[str, Any]) -> str:
    """The content hash of a ruleset: SHA-256 over its text and the values filled in."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    digest.update(b"\0" + msgspec.json.encode(resolved, order="deterministic"))
    return digest.hexdigest()
