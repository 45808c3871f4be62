"""`redact` of an endpoint: which values of what it accepts are taken out, and when."""

from collections.abc import Mapping

import msgspec

from router.config.context import LoadContext
from router.config.language import ExpressionSite, Language
from router.config.schema import RedactEntry
from router.expressions.field_paths import FieldPath, field_path
from router.model.settings import Endpoint, Redact
from router.yaml_source import SourceText

PLACE = "'redact'"
_SITE = ExpressionSite(PLACE, frozenset({"payload", "headers", "query"}), null="")
_NAMED = 2
"""Steps of a path to one header or one field of the query."""


def redacting(
    context: LoadContext, language: Language, endpoints: Mapping[str, Endpoint]
) -> dict[str, Endpoint]:
    """The endpoints, with what their `redact` says."""
    found = dict(endpoints)
    for name, entry in context.file.endpoints or ():
        if entry.redact is not None:
            if not entry.redact.named_fields and not entry.redact.broken:
                context.error("bad-redact", "'redact' names no field", entry.key_at("redact"))
            redact = _redact(context, language, entry.redact)
            found[name.value] = msgspec.structs.replace(found[name.value], redact=redact)
    return found


def _redact(context: LoadContext, language: Language, given: RedactEntry) -> Redact:
    paths = {
        text.value: path
        for text in given.named_fields
        if (path := _path(context, language, text)) is not None
    }
    when = given.when or 0
    return Redact(
        tuple(paths), tuple(paths.values()), "stored" if when < 0 else "done", max(when, 0)
    )


def _path(context: LoadContext, language: Language, text: SourceText) -> FieldPath | None:
    if (expression := language.expression(text, _SITE)) is None:
        return None
    path = field_path(expression.tree)
    if not _SITE.roots >= expression.roots:
        return None  # reported as such
    if path is None:
        context.error(
            "bad-redact",
            f"'{text.shown}' is no path: only fields, positions and [] may stand in it",
            text,
            "write it like payload.customer.email or payload.items[].name",
        )
    elif path[0] != "payload" and (len(path) != _NAMED or not isinstance(path[1], str)):
        context.error(
            "bad-redact",
            f"'{text.shown}' names no single value of '{path[0]}'",
            text,
            'write it like headers."x-user"'
            if path[0] == "headers"
            else "write it like query.name",
        )
    elif path[0] == "headers" and str(path[1]).lower() == "content-type":
        context.error(
            "bad-redact", f"'{text.shown}' says how the body is read: it is no person's", text
        )
    else:
        return path
    return None
