"""`router providers`."""

from typing import Any

import click
import msgspec

from router.cli.completion_values import provider_names
from router.cli.options import Options, place_options
from router.cli.output import note, print_list, print_table, printed
from router.cli.paging import paged
from router.errors import NotFound
from router.model.settings import OWN
from router.providers import Provider, builtin, own
from router.providers.definition import Names, VerifyRule, spelled
from router.suggest import did_you_mean

_PROOF_MAX = 60


@click.command()
@paged
@click.argument("name", required=False, shell_complete=provider_names)
@place_options()
def providers(*, name: str | None, place: Options) -> None:
    """
    The known senders: headers, proof, limits, the answer they expect, events.

    Those that the rules file defines itself are among them, if there is a rules file.
    """
    known = {**builtin(), OWN: own(), **_of_file(place)}
    if name is not None and name not in known:
        hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
        raise NotFound(f"no provider {name!r}; {hint}")
    if name is not None:
        _print_one(known[name], as_json=place.as_json)
        return
    # No endpoint can name the router itself: only `router providers router` shows it.
    distinct = list({known[n].name: known[n] for n in known if n != OWN}.values())
    print_list(
        [_described(p) for p in distinct] if place.as_json else (),
        ("provider", "sender", "proof", "limits"),
        (
            (" = ".join(names_of(p)), p.label, _short(_proof(p.definition.verify)), _limits(p))
            for p in distinct
        ),
        as_json=place.as_json,
    )


def _of_file(place: Options) -> dict[str, Provider]:
    """The providers that the rules file adds, as far as it can be read."""
    if not place.rules.exists():
        return {}
    loaded = place.loaded()
    if loaded.ruleset is None:
        note(f"{place.rules} has errors (`router check`): its own providers are not listed")
        return {}
    return {n: p for n, p in loaded.ruleset.providers.items() if n not in builtin()}


def _print_one(provider: Provider, *, as_json: bool) -> None:
    if printed(_described(provider), as_json=as_json):
        return
    click.echo(f"{' = '.join(names_of(provider))}  {provider.label}")
    click.echo(f"{provider.definition.about}\n")
    ways = enumerate(provider.definition.ways)
    lines = [("or" if index else "proof", _proof(rule)) for index, rule in ways]
    lines += [("expects", _expectation(provider))] if provider.name != OWN else []
    lines += [("limits", _limits(provider)), *(("", habit) for habit in provider.definition.notes)]
    api = provider.definition.api
    if api is not None and api.recover is not None:
        lines += [("missed", api.recover.described())]
        lines += [("", limit) for limit in api.recover.limits]
    lines += [(use, " or ".join(names)) for use, names in _headers(provider).items()]
    lines += [("roots", ", ".join(sorted(provider.root_fields)))] if provider.root_fields else []
    lines += [("source", source) for source in provider.definition.source]
    for word, text in lines:
        click.echo(f"{word:<10} {text}")
    if not provider.events:
        any_name = "any: its senders name them" if provider.names_freely else "always `unknown`"
        click.echo(f"\n{'events':<10} {any_name}")
        return
    click.echo("")
    print_table(
        ("group", "event", "actions", "payload"),
        (
            (
                info.group,
                f"{info.name}*" if info.assumed else info.name,
                ", ".join(f"{a}*" if a in info.assumed_actions else a for a in info.actions) or "-",
                "assumed*" if provider.sample_assumed(info.name) else "as shown",
            )
            for info in provider.events
        ),
    )
    click.echo("\n* assumed: known from elsewhere, the interface does not show it; accepted alike")


def names_of(provider: Provider) -> list[str]:
    """Its names, the best-known first, which is its label's: github, code-host."""
    names = (provider.name, *provider.aliases)
    return sorted(names, key=lambda name: name != provider.label.lower())


def _expectation(provider: Provider) -> str:
    """The answer that the sender expects, and when."""
    within = provider.definition.ack_within
    time = f"within {within}" if within else "soon (no time is named; ours is 2.5 s at most)"
    accepted = f"{', '.join(provider.definition.methods)} answered with 200 {time}"
    if not provider.signed:
        return accepted
    matching = "signature does" if not provider.definition.verify.shows_secret else "secret does"
    return f"{accepted}; {provider.refuse_with} when the {matching} not match"


def _described(provider: Provider) -> dict[str, Any]:
    return {
        "name": provider.name,
        "aliases": provider.aliases,
        "label": provider.label,
        "about": provider.definition.about,
        "proof": [_proof(rule) for rule in provider.definition.ways],
        "refuse_with": provider.refuse_with,
        "expects": _expectation(provider),
        "methods": provider.definition.methods,
        "notes": provider.definition.notes,
        "source": provider.definition.source,
        "oracle": provider.definition.oracle,
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


def _short(proof: str) -> str:
    """So much of it as leaves room for the rest of a line."""
    return proof if len(proof) <= _PROOF_MAX else proof[: _PROOF_MAX - 1] + "…"


def _where(rule: VerifyRule) -> str:
    """Where a secret that is sent as it is stands."""
    if rule.query or rule.field:
        return f"query {rule.query}" if rule.query else f"field {rule.field}"
    return " or ".join(spelled(rule.place))


def _proof(rule: VerifyRule) -> str:
    if rule.scheme == "none":
        return "none"
    if rule.shows_secret:
        return f"{rule.scheme} in {_where(rule)}"
    prefix = f", prefix {rule.prefix}" if rule.prefix else ""
    kind = "ed25519" if rule.scheme == "ed25519" else f"{rule.scheme} {rule.algorithm}"
    return f"{kind} of {rule.message}, {rule.encoding}{prefix}"


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
    found: dict[str, Names] = {"proof in": d.verify.place, "timestamp": d.verify.stamp.header}
    found["event"] = d.event.header
    found["id"] = d.id.header if d.id is not None else ()
    found |= {name: source.header for name, source in d.fields.items()}
    return {use: spelled(names) for use, names in found.items() if names}
