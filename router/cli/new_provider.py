"""`router new provider`: a definition from a request that came."""

import os
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from router.cli.captured_request import read_captured
from router.cli.files import read_named
from router.cli.output import note, printed
from router.cli.providers import names_of
from router.diagnosis.probe import known_senders
from router.diagnosis.proof_candidates import field_names, payload_of
from router.diagnosis.proposal import proposed
from router.diagnosis.scheme_finder import FittingScheme, fits
from router.errors import UsageError
from router.model.delivery import InboundRequest, LiveSecret
from router.providers import builtin
from router.providers.heads import looks_like


def make(name: str, file: Path, secret: bytes | None, *, as_json: bool) -> bool:
    """
    Print a definition for the sender of the request in the file; True if a scheme was found.

    Notes say what fits. The secret is never printed.
    """
    request = read_captured(file)
    found = fits(request, secret) if secret is not None else []
    fit = found[0] if found else None
    definition = proposed(request, fit)
    if not printed({"name": name, "definition": definition, "fits": found}, as_json=as_json):
        _note_fit(fit, secret)
        _note_known(request, fit, secret)
        click.echo(_text(name, definition, fit), nl=False)
    return fit is not None


def given_secret(variable: str | None, file: Path | None) -> bytes | None:
    """
    The secret to try.

    Raises:
        UsageError: it is named twice, or cannot be had.
    """
    if variable is not None and file is not None:
        raise UsageError("one of --secret-env and --secret-file is enough")
    if variable is not None:
        value = os.environ.get(variable, "")
        if not value:
            raise UsageError(f"the variable {variable} is not set")
        return value.encode("utf-8", "surrogateescape")
    if file is None:
        return None
    return read_named(str(file)).removesuffix(b"\n").removesuffix(b"\r")


def _note_fit(fit: FittingScheme | None, secret: bytes | None) -> None:
    if fit is not None:
        scheme = fit.verify["scheme"]
        places = ("header", "query", "field")
        where = next((fit.verify[key] for key in places if key in fit.verify), "Authorization")
        note(f"the secret fits: scheme {scheme}, in {where}")
        if fit.public_url:
            note(f"the address is signed: set `public_url: {fit.public_url}` on the endpoint")
        if fit.note:
            note(f"but for the body {fit.note}: was the captured body changed on its way?")
    elif secret is None:
        note("no secret was given, so `verify` is a guess: --secret-env VAR tries all schemes")
    else:
        note(
            "no scheme fits: is it the right secret, and the body exactly as it came? "
            "`verify` is a guess"
        )


def _note_known(request: InboundRequest, fit: FittingScheme | None, secret: bytes | None) -> None:
    """Is it a sender that is built in? Its secret tells for sure, the request by its looks."""
    known = {provider.name: provider for provider in builtin().values()}
    told = msgspec.structs.replace(request, public_url=fit.public_url if fit else "")
    live = [LiveSecret("given", secret)] if secret else []
    proved = known_senders(told, live, known.values()) if live else []
    seems = looks_like(request.headers, field_names(payload_of(request)))
    # A secret that is shown proves the request to every sender that shows one in that place.
    likely = [provider for provider in proved if f"`{provider.name}`" in seems] or proved
    for provider in likely:
        note(f"this is {provider.label}: `provider: {names_of(provider)[0]}` knows it already")
    if not proved and seems:
        note(f"it looks like {seems}, which is built in")


def _text(name: str, definition: dict[str, Any], fit: FittingScheme | None) -> str:
    lines = yaml.safe_dump(
        definition, sort_keys=False, default_flow_style=None, width=96, allow_unicode=True
    )
    warning = "" if fit else "    # a guess: see the interface of the sender\n"
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"providers:\n  {name}:\n{warning}{body}"
