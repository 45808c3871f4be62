"""`answer` of an endpoint: its keys."""

from typing import Annotated

from router.config.spelling import HEADER
from router.yaml_source import Entry, Node, SourceText, Table, doc, most, named


@named("'answer'", rules=(most("body", "json"),))
class AnswerEntry(Entry):
    """`answer` of an endpoint, made of the request; `otherwise` is one where that fails."""

    status: Annotated[
        SourceText | None,
        doc("200 (default) to 299; a template.", 202, pattern=r"2[0-9]{2}|.*\{\{.*"),
    ] = None
    type: Annotated[
        SourceText | None,
        doc("The media type; left out text/plain, of `json` application/json.", "text/xml"),
    ] = None
    headers: Annotated[
        Table[SourceText] | None,
        doc("Headers; templates.", {"X-Build": "{{ delivery.id }}"}, names=HEADER.pattern),
    ] = None
    body: Annotated[
        SourceText | None, doc("The body; a template.", "kept as {{ delivery.id }}")
    ] = None
    json: Annotated[
        Node | None,
        doc(
            "The body as JSON; texts are templates, a lone template keeps its type.",
            {"challenge": "{{ payload.challenge }}"},
        ),
    ] = None
    otherwise: Annotated[
        "AnswerEntry | None", doc("The answer where a template of this one fails.")
    ] = None
