"""The facts of a provider as Markdown, so that docs/providers.md says what the definitions say."""

import re
from collections.abc import Mapping

from router.providers.definition import Names, Source, VerifyRule, spelled
from router.providers.provider import EventInfo, Provider

_BLOCK = re.compile(r"(<!-- facts: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def refreshed(text: str, providers: Mapping[str, Provider]) -> str:
    """
    The page with every block between `<!-- facts: NAME -->` and `<!-- end -->` written anew.

    Raises:
        KeyError: a block names no provider.
    """
    return _BLOCK.sub(lambda m: f"{m[1]}\n{facts(providers[m[2]])}\n{m[3]}", text)


def facts(provider: Provider) -> str:
    """Two tables: how it sends, and which events it knows."""
    rows = ["| | |", "|---|---|"]
    rows += [f"| {name} | {value} |" for name, value in _ways(provider)]
    rows += ["", "| Group | Event | Actions |", "|---|---|---|"]
    rows += [_event_row(event) for event in provider.events]
    return "\n".join(rows) + "\n"


def _ways(provider: Provider) -> list[tuple[str, str]]:
    d = provider.definition
    names = [f"`{name}`" for name in (provider.name, *provider.aliases)]
    rows = [("`provider:`", " or ".join(names)), ("Signature", _signature(d.verify))]
    rows.append(("Event name", _source(d.event)))
    if d.action is not None:
        rows.append(("Action", _source(d.action)))
    if d.id is not None:
        rows.append(("Id, for dropping duplicates", _source(d.id)))
    for root, source in d.fields.items():
        rows.append((f"`{root}` in expressions", _source(source)))
    rows.append(("Wrong or missing signature", f"{provider.refuse_with}"))
    rows.append(("Methods", ", ".join(d.methods)))
    rows.append(("Largest body", d.body_max))
    if d.split is not None:
        rows.append(("Events in one delivery", f"up to {d.split:,}"))
    if d.ack_within is not None:
        rows.append(("Answer expected within", d.ack_within))
    return rows


def _signature(rule: VerifyRule) -> str:
    if rule.scheme == "none":
        return "none"
    kind = "ECDSA on P-256" if rule.scheme == "ecdsa" else "HMAC"
    text = f"{kind} with {rule.algorithm.upper()} over `{rule.message}`, in {rule.encoding}"
    text += f" after `{rule.prefix}`" if rule.prefix else ""
    text += f", in {_headers(rule.header)}"
    return text + (f"; timestamp in {_headers(rule.timestamp)}" if rule.timestamp else "")


def _source(source: Source) -> str:
    if source.event:
        return "the event name"
    where = f"field `{source.field}`" if source.field else _headers(source.header)
    return f"{where}, after `{source.prefix}`" if source.prefix else where


def _headers(names: Names) -> str:
    return " or ".join(f"`{name}`" for name in spelled(names))


def _event_row(event: EventInfo) -> str:
    actions = [f"`{a}`{'*' if a in event.assumed_actions else ''}" for a in event.actions]
    name = f"`{event.name}`{'*' if event.assumed else ''}"
    return f"| {event.group} | {name} | {', '.join(actions)} |"
