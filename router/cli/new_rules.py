"""`router new rules`: a first rules file, commented, without a warning of `check`."""

import json
import os
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from router.cli.dev_hints import program_name
from router.cli.files import taken, write_new
from router.cli.options import DEFAULT_RULES
from router.cli.output import print_json
from router.cli.providers import names_of
from router.cli.templates import filling, template
from router.config import load
from router.errors import UsageError
from router.providers import Provider, builtin
from router.suggest import did_you_mean

SINK = "http://127.0.0.1:9000"


class StarterRules(msgspec.Struct, frozen=True):
    """
    What a first file holds for one provider. `rule` is YAML; URL stands for the target.

    Without a `secret` and what its `verify` must say everybody is let in.
    """

    endpoint: str
    secret: str
    variable: str
    where: str
    event: str
    rule: str
    verify: str = ""


def starters() -> dict[str, StarterRules]:
    """What to start with, by the provider, for those that have a rule of their own."""
    return filling("starters.yaml", dict[str, StarterRules])


def start_of(provider: Provider) -> StarterRules:
    """What to start with: the best-known senders have a rule of their own."""
    if (known := starters().get(provider.name)) is not None:
        return known
    name = provider.name
    event = next((info.name for info in provider.events), None)
    named, proof = name.replace("-", "_"), provider.definition.verify
    return StarterRules(
        endpoint=name,
        secret=named if provider.signed and not proof.keyless else "",
        verify=json.dumps(_asked(proof.ask)) if proof.ask else "",
        variable=f"{named.upper()}_SECRET",
        where=f"docs/providers/{name}.md says which secret it is",
        event=event or "made",
        rule=template("rule.txt").format(
            name=name,
            label=provider.label,
            events=f"\n    events: {event}                   # or a list, or *" if event else "",
        ),
    )


def _asked(names: Sequence[str]) -> dict[str, Any]:
    """Something for each key that an endpoint must say in its `verify`."""
    found: dict[str, Any] = {}
    for key, _, claim in (name.partition(".") for name in names):
        url = f"https://{key.replace('_', '-')}.example.com"
        found[key] = found.get(key, {}) | {claim: "change-me"} if claim else url
    return found


def make(*, file: str, providers: Sequence[str], forward: str | None, as_json: bool) -> None:
    """
    Ask for what is missing (on a terminal), write the file, print the next commands.

    Raises:
        UsageError: a sender is unknown, the URL is none, or the file is there already.
    """
    path = Path(file)
    if path.exists():
        raise taken(path)
    if not providers and sys.stdin.isatty():
        providers, forward = _ask(forward)
    chosen = _chosen(providers)
    text = written(chosen, forward or SINK)
    faults = load(text, path=str(path), env={}).diagnostics
    if faults:  # the rest of the text is ours
        raise UsageError(f"--forward {forward!r}: {faults[0].message}")
    write_new(path, text)
    if as_json:
        print_json({"file": str(path), "endpoints": [s.endpoint for s in chosen.values()]})
        return
    click.echo(f"{path} is written. Next, each in a terminal of its own:")
    for command in _next(path, chosen, to_sink=forward in (None, SINK)):
        click.echo(f"  {command}")


def written(chosen: dict[str, StarterRules], url: str) -> str:
    """The file's text: what to start with by the provider name to write; where events go."""
    signed = [start for start in chosen.values() if start.secret]
    # Who signs the address needs it; else it may wait.
    server = "" if any(builtin()[name].signs_url for name in chosen) else "# "
    lines = [
        "# Made by `router new rules`. After a change, `router check` says whether it is right.",
        "version: 1",
        "",
        f"{server}server: {{base_url: https://hooks.example.com}}   # the public address",
        "",
    ]
    lines += (
        ["secrets:                                # references, never values"] if signed else []
    )
    for start in signed:
        lines.append(f"  # {start.where}")
        lines.append(f"  {start.secret}: {{env: {start.variable}}}")
    lines += ["", "endpoints:                              # `router addresses` lists their URLs"]
    for name, start in chosen.items():
        lines.append(f"  {start.endpoint}:")
        lines.append(f"    id: {secrets.token_hex(16)}")
        lines.append(f"    provider: {name}")
        if start.verify:
            lines.append(f"    verify: {start.verify}   # yours")
        if start.secret:
            lines.append(f"    secrets: {start.secret}")
        elif not start.verify:
            lines.append("    verify: none")
    lines += ["", "rules:                                  # every rule that matches runs"]
    text = "\n".join(lines) + "\n"
    # Under the sink each rule has a path of its own.
    urls = {name: f"{SINK}/{s.endpoint}" if url == SINK else url for name, s in chosen.items()}
    return text + "\n".join(
        start.rule.replace("URL", json.dumps(urls[name])) for name, start in chosen.items()
    )


def _ask(forward: str | None) -> tuple[list[str], str | None]:
    """The senders, and where to forward to; both have a default."""
    labels = ", ".join(_names())
    answer = click.prompt(f"Who sends ({labels}; several with commas)", default="shopify", err=True)
    names = [name.strip().lower() for name in answer.split(",") if name.strip()]
    _chosen(names)  # a wrong name is refused before the next question
    if forward is None:
        forward = click.prompt("Where the rules send events", default=SINK, err=True)
    return names, forward


def _names() -> list[str]:
    """Each sender once, by the name people know."""
    known = builtin()
    names = [*starters(), *known]  # those with a rule of their own first
    return list(dict.fromkeys(names_of(known[name])[0] for name in names))


def _chosen(names: Sequence[str]) -> dict[str, StarterRules]:
    """
    The name to write to what it starts with; two names of one sender count once.

    Raises:
        UsageError: none, or one that is unknown.
    """
    if not names:
        raise UsageError(f"name a sender with --provider: {', '.join(_names())}")
    known = builtin()
    found: dict[str, StarterRules] = {}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"known are {', '.join(_names())}"
            raise UsageError(f"no provider {name!r}; {hint}")
        start = start_of(known[name])
        if start not in found.values():
            found[name] = start
    return found


def _next(path: Path, chosen: dict[str, StarterRules], *, to_sink: bool) -> list[str]:
    """The three commands that show the file at work."""
    called = program_name(sys.argv[0], os.environ.get("PATH"))
    name = shlex.quote(str(path))
    usual = str(path) == DEFAULT_RULES
    start = next(iter(chosen.values()))
    option = "" if usual else f" -f {name}"
    return [
        f"{called} serve --dev" + ("" if usual else f" {name}"),
        f"{called} sink" if to_sink else f"{called} deliveries{option}",
        f"{called} send{option} {start.endpoint} {start.event}",
    ]
