"""`router new provider`: a definition from a request that came."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from router.cli.captured_request import read_captured
from router.cli.option_file import read_named
from router.cli.output import note, print_json
from router.cli.providers import names_of
from router.diagnosis.probe import known_senders
from router.diagnosis.proof_candidates import titled
from router.diagnosis.scheme_finder import FittingScheme, fits
from router.errors import UsageError
from router.model.delivery import InboundRequest, LiveSecret
from router.providers import builtin
from router.providers.forms import is_form

_EVENT_HEADERS = ("event", "topic", "event-type", "event-key", "event-name")
_EVENT_FIELDS = ("type", "event", "event_type", "eventType", "event_name", "topic", "kind")
_ID_HEADERS = ("webhook-id", "delivery", "delivery-id", "event-id", "message-id", "request-id")
_ID_FIELDS = ("id", "event_id", "eventId", "uuid", "message_id")
_LOOKS_SIGNED = ("signature", "hmac", "digest", "token", "authorization")


def make(name: str, file: Path, secret: bytes | None, *, as_json: bool) -> bool:
    """
    Print a definition for the sender of the request in the file; True if a scheme was found.

    Notes say what fits. The secret is never printed.
    """
    request = read_captured(file)
    found = fits(request, secret) if secret is not None else []
    fit = found[0] if found else None
    definition = _definition(request, fit)
    if as_json:
        print_json({"name": name, "definition": definition, "fits": found})
    else:
        _note_fit(fit, secret)
        known = {provider.name: provider for provider in builtin().values()}
        live = [LiveSecret("given", secret)] if secret else []
        for provider in known_senders(request, live, known.values()) if live else ():
            note(f"this is {provider.label}: `provider: {names_of(provider)[0]}` knows it already")
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
        where = fit.verify.get("header") or fit.verify.get("query") or "Authorization"
        note(f"the secret fits: scheme {scheme}, in {where}")
        if fit.note:
            note(f"but for the body {fit.note}: was the captured body changed on its way?")
    elif secret is None:
        note("no secret was given, so `verify` is a guess: --secret-env VAR tries all schemes")
    else:
        note(
            "no scheme fits: is it the right secret, and the body exactly as it came? "
            "`verify` is a guess"
        )


def _definition(request: InboundRequest, fit: FittingScheme | None) -> dict[str, Any]:
    headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in request.headers}
    payload: Any = None
    with suppress(ValueError, RecursionError):
        payload = msgspec.json.decode(request.body)
    payload = payload if isinstance(payload, dict) else None
    definition: dict[str, Any] = {"verify": fit.verify if fit else _guess(headers)}
    event = _source(headers, payload, _EVENT_HEADERS, _EVENT_FIELDS)
    number = (fit.id if fit else None) or _source(headers, payload, _ID_HEADERS, _ID_FIELDS)
    definition |= {k: v for k, v in (("event", event), ("id", number)) if v is not None}
    if is_form(headers.get("content-type", "").encode("latin-1")):
        definition["read"] = "form"
    elif payload is None and headers.get("content-type", "").startswith("text/"):
        definition["read"] = "text"
    if request.method != "POST":
        definition["methods"] = [request.method]
    name = payload.get(event["field"]) if event and "field" in event and payload else None
    if event and "header" in event:
        name = headers.get(str(event["header"]).lower())
    if isinstance(name, str) and name:
        definition["events"] = [name]
    return definition


def _source(
    headers: dict[str, str],
    payload: dict[str, Any] | None,
    names: tuple[str, ...],
    fields: tuple[str, ...],
) -> dict[str, Any] | None:
    usual = [name for name, value in headers.items() if 0 < len(value) <= 200]
    named = [n for ending in names for n in usual if f"-{n}".endswith(f"-{ending}")]
    held = [field for field in fields if isinstance((payload or {}).get(field), str | int)]
    if named:
        return {"header": titled(named[0])}
    return {"field": held[0]} if held else None


def _guess(headers: dict[str, str]) -> dict[str, Any]:
    signed = [(word, name) for word in _LOOKS_SIGNED for name in headers if word in name]
    if not signed:
        return {"scheme": "none"}
    word, name = signed[0]
    if word in ("token", "authorization"):
        scheme = "basic" if headers[name].lower().startswith("basic ") else "token"
        return {"scheme": scheme} | ({} if word != "token" else {"header": titled(name)})
    hexed = all(c in "0123456789abcdef" for c in headers[name].rpartition("=")[2])
    return {"scheme": "hmac", "header": titled(name)} | ({} if hexed else {"encoding": "base64"})


def _text(name: str, definition: dict[str, Any], fit: FittingScheme | None) -> str:
    lines = yaml.safe_dump(
        definition, sort_keys=False, default_flow_style=None, width=96, allow_unicode=True
    )
    warning = "" if fit else "    # a guess: see the interface of the sender\n"
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"providers:\n  {name}:\n{warning}{body}"
