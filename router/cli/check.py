"""`router check`."""

import click

from router.cli.place import Place, place_options, rules_argument


@click.command()
@rules_argument
@place_options()
@click.option("--strict", is_flag=True, help="Warnings are problems too.")
@click.pass_context
def check(ctx: click.Context, *, place: Place, strict: bool) -> None:
    """Say whether a rules file is right. Needs no secrets, starts nothing, calls nobody."""
    from router.config import render_json, render_text

    loaded = place.loaded()
    errors = sum(d.severity == "error" for d in loaded.diagnostics)
    if place.as_json:
        click.echo(render_json(loaded.diagnostics))
    elif loaded.diagnostics:
        click.echo(render_text(loaded.diagnostics))
    if loaded.ruleset is not None and not place.as_json:
        rules = loaded.ruleset.rules
        actions = sum(len(rule.actions) for rule in rules)
        counted = [
            _count(len(loaded.ruleset.endpoints), "endpoint"),
            _count(len(rules), "rule"),
            _count(actions, "action"),
        ]
        click.echo(f"{place.rules}: ok, {', '.join(counted)}")
    if errors or loaded.ruleset is None or (strict and loaded.diagnostics):
        ctx.exit(1)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
