"""Secrets for trials: invented, so that no real one is needed and none can leak."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from router.kinds import KINDS
from router.rules.live import SecretValues
from router.rules.ruleset import Ruleset

RandomBytes = Callable[[int], bytes]
URL = "https://secret.invalid/"
"""A secret that is a whole URL is this and its name; what is sent to targets `secret-NAME`."""


class TrialKeys(msgspec.Struct, frozen=True):
    """What verifies, and by the name of each secret what its sender signs with."""

    secrets: SecretValues
    sign: Mapping[str, bytes]


def invented(ruleset: Ruleset, random_bytes: RandomBytes) -> TrialKeys:
    """A value for every secret of the ruleset, of the kind that its users need."""
    verify: dict[str, bytes] = {}
    sign: dict[str, bytes] = {}
    for endpoint in ruleset.endpoints.values():
        for name in endpoint.secrets:
            if name not in verify:
                made = ruleset.providers[endpoint.provider].invent_secret(random_bytes)
                verify[name], sign[name] = made.verify, made.sign
    urls = frozenset(url_secrets(ruleset))
    for name in ruleset.secrets:
        text = f"{URL}{name}" if name in urls else f"secret-{name}"
        verify.setdefault(name, text.encode())
    until = {name: ref.until for name, ref in ruleset.secrets.items()}
    return TrialKeys(SecretValues(verify, until), sign)


def url_secrets(ruleset: Ruleset) -> Iterator[str]:
    """The secrets that are whole addresses."""
    for target in ruleset.targets.values():
        if target.url_secret is not None:
            yield target.url_secret
    for rule in ruleset.rules:
        for action in rule.actions:
            yield from KINDS[action.kind].url_secrets(action.spec)
