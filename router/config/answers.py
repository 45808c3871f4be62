"""`answer` of endpoints: templates over the request, or one answer that is known now."""

import re
from collections.abc import Mapping

import msgspec

from router.config import targets
from router.config.context import LoadContext
from router.config.language import ExpressionSite, Language
from router.config.schema import AnswerEntry
from router.errors import RenderError
from router.expressions import compile_template
from router.kinds.templates import texts_in
from router.model.settings import Endpoint, FixedAnswer
from router.rules.answers import MadeAnswer
from router.yaml_source import shown

SITE = ExpressionSite(
    "an answer",
    frozenset({"payload", "headers", "query", "delivery"}),
    null="",
    delivery=frozenset({"id", "received_at"}),
)
_ALONE = msgspec.structs.replace(SITE, null="the sender then gets its usual answer")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:;[ -~]*)?", re.ASCII)
_TAKEN = targets.HOP_BY_HOP | {"content-encoding", "content-type", "date", "server"}
_ID, _MARK = "delivery.id", "\0delivery.id\0"
_EMPTY, _OK = compile_template(""), compile_template("200")


def answering(
    language: Language, endpoints: Mapping[str, Endpoint]
) -> tuple[dict[str, Endpoint], dict[str, MadeAnswer]]:
    """The endpoints with the answers that no request changes, and the other answers by endpoint."""
    found, made = dict(endpoints), {}
    for name, entry in language.context.file.endpoints or ():
        if entry.answer is None:
            continue
        answer = _answer(language, entry.answer)
        if (fixed := _fixed(language.context, entry.answer, answer)) is None:
            made[name.value] = answer
        else:
            found[name.value] = msgspec.structs.replace(found[name.value], answer=fixed)
    return found, made


def _answer(language: Language, entry: AnswerEntry) -> MadeAnswer:
    context, is_json = language.context, entry.json is not None
    if entry.body is not None and is_json:
        message = "'body' and 'json' cannot both be the body"
        context.error("two-bodies", message, entry.key_at("json"))
    for name, _ in entry.headers or ():
        if name.value.lower() in _TAKEN:
            message = f"the header '{name.shown}' is set by the router itself"
            context.error("bad-header", message, name)
    kind = "application/json" if is_json else FixedAnswer().type
    if entry.type is not None and not _MEDIA_TYPE.fullmatch(kind := entry.type.value):
        context.error("bad-value", f"'{shown(kind)}' is not a media type", entry.type)
    site, otherwise = _ALONE, None
    if entry.otherwise is not None:
        site, otherwise = SITE, _answer(language, entry.otherwise)
        _fixed(context, entry.otherwise, otherwise)
    status, body = (t and language.template(t, site) for t in (entry.status, entry.body))
    return MadeAnswer(
        status or _OK,
        kind,
        targets.headers(language, entry.headers, site),
        body or _EMPTY if entry.json is None else language.json(entry.json, site, typed=False),
        is_json,
        otherwise,
    )


def _fixed(context: LoadContext, entry: AnswerEntry, answer: MadeAnswer) -> FixedAnswer | None:
    """
    The answer, if nothing of the request but its delivery's id, in the body, comes into it. A fault
    in what no request changes is reported.
    """
    headers = tuple(pair for pair in answer.headers if not pair[1].reads)
    read = [e for t in texts_in(answer.body) for e in t.expressions if e.reads]
    moving = any(answer.is_json or e.text != _ID for e in read)
    known = msgspec.structs.replace(
        answer,
        status=_OK if answer.status.reads else answer.status,
        headers=headers,
        body=_EMPTY if moving else answer.body,
        is_json=answer.is_json and not moving,
    )
    try:
        fixed = known.render({"delivery": {"id": _MARK}})
    except RenderError as fault:
        context.error("bad-value", str(fault), entry.at(fault.place.split(".")[1]))
        return None
    if moving or answer.status.reads or headers != answer.headers:
        return None
    return msgspec.structs.replace(fixed, body=tuple(fixed.body[0].split(_MARK)))
