"""The built-in providers, each parsed when it is first asked for, once."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from pkgutil import get_data

import yaml

from router.providers.definition import Sample
from router.providers.provider import Provider
from router.providers.samples import parse_samples
from router.providers.validation import parse_definition

_FILE_OF = {
    "commerce": "commerce",
    "shopify": "commerce",
    "email": "email",
    "sendgrid": "email",
    "code-host": "code-host",
    "github": "code-host",
    "standard-webhooks": "standard-webhooks",
    "svix": "standard-webhooks",
    "stripe": "stripe",
    "slack": "slack",
    "gitlab": "gitlab",
    "gitea": "gitea",
    "forgejo": "gitea",
    "gogs": "gitea",
    "hmac": "hmac",
    "token": "token",
    "basic": "basic",
    "jwt": "jwt",
    "none": "none",
}
"""Name to definition. Written down here so that asking for one parses one."""

_SAMPLES_APART = frozenset({"commerce", "code-host"})
"""Definitions whose samples are a file of their own: whole payloads, read when first asked for."""

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builtin(Mapping[str, Provider]):
    def __getitem__(self, name: str) -> Provider:
        return _provider(_FILE_OF[name])

    def __contains__(self, name: object) -> bool:
        return name in _FILE_OF

    def __iter__(self) -> Iterator[str]:
        return iter(_FILE_OF)

    def __len__(self) -> int:
        return len(_FILE_OF)


_BUILTIN = _Builtin()


def builtin() -> Mapping[str, Provider]:
    """Every name, aliases too, to its provider; two names of one provider give one object."""
    return _BUILTIN


def own() -> Provider:
    """The router as the sender of its own events: no endpoint may name it as its provider."""
    return _provider("router")


@cache
def _provider(file: str) -> Provider:
    # The loader is safe either way; the C one is ten times as fast.
    data = yaml.load(_text(f"{file}.yaml"), _LOADER)  # noqa: S506
    definition = parse_definition(data, file=f"{file}.yaml")
    return Provider(definition, partial(_samples, file) if file in _SAMPLES_APART else None)


def _samples(file: str) -> tuple[Sample, ...]:
    return parse_samples(_text(f"samples/{file}.json"))


def _text(file: str) -> bytes:
    # pkgutil finds package data in folders and archives alike; importlib.resources does too, but
    # takes 12 ms to import.
    text = get_data("router.providers", f"definitions/{file}")
    assert text is not None  # noqa: S101 (only for loaders without data, which ours never are)
    return text
