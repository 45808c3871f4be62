"""The built-in providers, each parsed once, when it is first needed."""

from collections.abc import Iterator, Mapping
from functools import cache

import yaml

from router.providers.heads import FOLDER, heads
from router.providers.provider import Provider
from router.providers.published import with_published
from router.providers.samples import parse_samples
from router.providers.validation import parse_definition

_OWN = "router"
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builtin(Mapping[str, Provider]):
    def __getitem__(self, name: str) -> Provider:
        return _provider(_files()[name])

    def __contains__(self, name: object) -> bool:
        return name in _files()

    def __iter__(self) -> Iterator[str]:
        return iter(_files())

    def __len__(self) -> int:
        return len(_files())


_BUILTIN = _Builtin()


def builtin() -> Mapping[str, Provider]:
    """Every name, aliases too, to its provider; two names of one provider give one object."""
    return _BUILTIN


def own() -> Provider:
    """The router as the sender of its own events: no endpoint may name it as its provider."""
    return _provider(_OWN)


def recovering() -> list[str]:
    """The senders, as people call them, whose APIs say what they could not deliver."""
    rules = {provider.label: provider.definition.api for provider in _BUILTIN.values()}
    return sorted(label for label, rule in rules.items() if rule is not None and rule.recover)


@cache
def _files() -> Mapping[str, str]:
    """Every name to the file of its definition: asking for one provider parses one."""
    return {name: head.file for head in heads() for name in head.names if head.file != _OWN}


@cache
def _provider(file: str) -> Provider:
    # The loader is safe either way; the C one is ten times as fast.
    data = yaml.load((FOLDER / f"{file}.yaml").read_bytes(), _LOADER)  # noqa: S506
    definition = parse_definition(data, file=f"{file}.yaml")
    apart = FOLDER / "samples" / f"{file}.json"  # whole payloads, read when first needed
    samples = (lambda: parse_samples(apart.read_bytes())) if apart.is_file() else None
    facts = FOLDER / "published" / f"{file}.json"
    if not facts.is_file():
        return Provider(definition, samples)
    whole, pieces = with_published(definition, facts.read_bytes())
    return Provider(whole, samples, pieces)
