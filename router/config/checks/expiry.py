"""Checks of `until` against the time at which the file is judged."""

from router.config.checks.base import CompiledFile, Found
from router.legible import exact


def expired_secrets(file: CompiledFile) -> Found:
    """Secrets whose `until` is past, where the sender has another one."""
    now = file.context.now or 0
    said = {name for one in file.ruleset.unverifiable(now) for name in one.secrets}
    for text, entry in file.context.file.secrets or ():
        if text.value in file.ruleset.expired(now) - said:
            day = exact(entry.until or 0)[:10]
            yield entry.at("until"), f"'{text.shown}' verifies nothing since {day}", "take it out"


def endpoints_without_secret(file: CompiledFile) -> Found:
    """Endpoints that can verify nothing, because all of their secrets have expired."""
    entries = {name.value: entry for name, entry in file.context.file.endpoints or ()}
    for endpoint in file.ruleset.unverifiable(file.context.now or 0):
        listed, hint = ", ".join(endpoint.secrets), "name the secret that the sender uses now"
        message = f"'{endpoint.name}' refuses every delivery: the `until` of {listed} is past"
        yield entries[endpoint.name].at("secrets"), message, hint
