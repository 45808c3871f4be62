"""Checks of time: delays that never come, answers that come too late."""

from collections.abc import Iterator

from router.config.checks.base import CompiledFile, Found
from router.config.rule_schema import RetryEntry
from router.model.retry import AGE_LIMIT_MS
from router.yaml_source import Sequence


def delays_beyond_age(file: CompiledFile) -> Found:
    """Delays that no job lives to see: the first of each schedule."""
    for entry in policies(file):
        total = 0
        node = entry.at("schedule")
        for at, delay in enumerate(entry.schedule or ()):
            total += delay
            if total > AGE_LIMIT_MS:
                yield (
                    node.items[at] if isinstance(node, Sequence) else node,
                    "from here on nothing is tried: all delays together are at most 7 days",
                )
                break


def policies(file: CompiledFile) -> Iterator[RetryEntry]:
    """Every `retry` of the file, and what stands under `retries`."""
    rules = file.entries
    given = [entry for _, entry in file.context.file.retries or ()]
    given += [rule.retry for rule in rules if rule.retry]
    given += [action.retry for rule in rules for action in rule.actions or () if action.retry]
    given += [action.retry for _, action in file.context.file.actions or () if action.retry]
    yield from given


def answers_too_late(file: CompiledFile) -> Found:
    """A time limit of our answers that a sender does not wait for."""
    server = file.context.file.server
    limits = server.limits if server else None
    if limits is None or limits.answer is None:
        return
    for name, endpoint in file.ruleset.addressed.items():
        provider = file.ruleset.providers.get(endpoint.provider)
        waits = provider.ack_within_s if provider else None
        if waits is not None and limits.answer > waits * 1_000:
            yield (
                limits.at("answer"),
                f"the sender behind '{name}' waits {waits:g} s for an answer, not so long",
                "it would send again what has been accepted",
            )
            return
