"""`router providers`."""

from typing import Any

import click
import msgspec

from router.cli.completing import provider_names
from router.cli.output import print_json, print_table
from router.errors import NotFound
from router.providers import Provider, builtin
from router.providers.definition import Names, spelled
from router.providers.provider import EventInfo


@click.command()
@click.argument("name", required=False, shell_complete=provider_names)
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def providers(*, name: str | None, as_json: bool) -> None:
    """The senders known: headers, signature, limits, what they expect of us, events."""
    known = builtin()
    if name is not None and name not in known:
        from router.yaml_source.suggest import Suggester

        hint = Suggester().hint(name, known) or f"known are {', '.join(known)}"
        raise NotFound(f"no provider {name!r}; {hint}")
    if name is not None:
        _print_one(known[name], as_json=as_json)
        return
    distinct = list({known[n].name: known[n] for n in known}.values())
    if as_json:
        print_json([_described(p) for p in distinct])
        return
    rows = [
        [" = ".join((p.name, *p.aliases)), p.label, _signature(p), _limits(p)] for p in distinct
    ]
    print_table(("provider", "sender", "signature", "limits"), rows)


def _print_one(provider: Provider, *, as_json: bool) -> None:
    if as_json:
        print_json(_described(provider))
        return
    click.echo(f"{' = '.join((provider.name, *provider.aliases))}  {provider.label}")
    click.echo(provider.definition.about)
    click.echo(f"\n{'signature':<10} {_signature(provider)}")
    click.echo(f"{'expects':<10} {_expectation(provider)}")
    click.echo(f"{'limits':<10} {_limits(provider)}")
    for note in provider.definition.notes:
        click.echo(f"{'':<10} {note}")
    for use, names in _headers(provider).items():
        click.echo(f"{use:<10} {' or '.join(names)}")
    if provider.root_fields:
        click.echo(f"{'roots':<10} {', '.join(sorted(provider.root_fields))}")
    click.echo("")
    rows = [_event_cells(provider, info) for info in provider.events]
    print_table(("group", "event", "actions", "payload"), rows)
    click.echo("\n* assumed: known from elsewhere, the interface does not show it; accepted alike")


def _event_cells(provider: Provider, info: EventInfo) -> list[str]:
    actions = [f"{a}*" if a in info.assumed_actions else a for a in info.actions]
    return [
        info.group,
        f"{info.name}*" if info.assumed else info.name,
        ", ".join(actions) or "-",
        "assumed*" if provider.sample_assumed(info.name) else "as shown",
    ]


def _expectation(provider: Provider) -> str:
    """What the sender wants to hear from us, and when."""
    within = provider.definition.ack_within
    time = f"within {within}" if within else "soon (no time is named; ours is 2.5 s at most)"
    accepted = f"{', '.join(provider.definition.methods)} answered with 200 {time}"
    if not provider.signed:
        return accepted
    return f"{accepted}; {provider.refuse_with} when the signature does not match"


def _described(provider: Provider) -> dict[str, Any]:
    return {
        "name": provider.name,
        "aliases": provider.aliases,
        "label": provider.label,
        "about": provider.definition.about,
        "signature": _signature(provider),
        "refuse_with": provider.refuse_with,
        "expects": _expectation(provider),
        "methods": provider.definition.methods,
        "notes": provider.definition.notes,
        "headers": _headers(provider),
        "splits": provider.definition.split,
        "body_max": provider.body_max,
        "ack_within_s": provider.ack_within_s,
        "roots": sorted(provider.root_fields),
        "events": [
            {**msgspec.structs.asdict(e), "payload_assumed": provider.sample_assumed(e.name)}
            for e in provider.events
        ],
    }


def _signature(provider: Provider) -> str:
    rule = provider.definition.verify
    if rule.scheme == "none":
        return "none"
    prefix = f", prefix {rule.prefix}" if rule.prefix else ""
    return f"{rule.scheme} {rule.algorithm} of {rule.message}, {rule.encoding}{prefix}"


def _limits(provider: Provider) -> str:
    parts = [f"body {provider.definition.body_max}"]
    if provider.definition.split is not None:
        parts.append(f"{provider.definition.split} events a delivery")
    if provider.definition.ack_within is not None:
        parts.append(f"answer within {provider.definition.ack_within}")
    return ", ".join(parts)


def _headers(provider: Provider) -> dict[str, tuple[str, ...]]:
    """What each header is for, in every spelling taken."""
    d = provider.definition
    found: dict[str, Names] = {"signed in": d.verify.header, "timestamp": d.verify.timestamp}
    found["event"] = d.event.header
    found["id"] = d.id.header if d.id is not None else ()
    found |= {name: source.header for name, source in d.fields.items()}
    return {use: spelled(names) for use, names in found.items() if names}
