"""`http:` of an action: addresses, headers, bodies, and what may stand where."""

import re
from typing import Annotated, Any, Literal

from router.config import targets as addresses
from router.config.kinds.base import CompileContext, Compiled, Schema, Surroundings
from router.config.language import ExpressionSite
from router.config.schema import AuthEntry, SignEntry, TlsEntry
from router.config.spelling import HEADER, METHODS, STATUSES, URL
from router.config.units import Duration, statuses
from router.expressions import Template
from router.kinds.http import HttpSpec
from router.model.settings import Target
from router.suggest import meaning
from router.yaml_source import Entry, Node, SourceText, Table, doc, most, named, one

BODIES = ("json", "form", "text", "body")
_CALLED = rf"{URL.pattern}|\{{\{{.*"
"""A whole address may be a secret."""
_AUTHORITY = re.compile(r"https?://[^/?#{]*[/?#]", re.IGNORECASE)


@named(
    "'http'",
    shorthand="short",
    rules=(one("target", "url"), most("url", "path"), most(*BODIES)),
)
class HttpEntry(Entry):
    """An `http` action; a lone text is its url."""

    short: Annotated[SourceText | None, doc("POST the event to this address.", pattern=_CALLED)] = (
        None
    )
    target: Annotated[SourceText | None, doc("The target to call.", "erp")] = None
    url: Annotated[
        SourceText | None,
        doc(
            "The address, if it is no target; templates in path and query only.",
            "https://erp.example.net/orders",
            pattern=_CALLED,
        ),
    ] = None
    method: Annotated[SourceText | None, doc("Default POST.", "PUT", pattern="|".join(METHODS))] = (
        None
    )
    path: Annotated[
        SourceText | None,
        doc("Appended to the target's address; a template.", "/orders/{{ payload.id }}"),
    ] = None
    query: Annotated[
        Table[SourceText] | None, doc("Query fields; templates.", {"id": "{{ payload.id }}"})
    ] = None
    headers: Annotated[
        Table[SourceText] | None,
        doc("Headers; templates.", {"X-Order": "{{ payload.id }}"}, names=HEADER.pattern),
    ] = None
    forward_headers: Annotated[
        list[SourceText] | None,
        doc("Headers of the sender to pass on.", ["X-Request-Id"], pattern=HEADER.pattern),
    ] = None
    json: Annotated[
        Node | None,
        doc(
            "The body as JSON; texts are templates, a lone template keeps its type.",
            {"order": "{{ payload.id }}"},
        ),
    ] = None
    form: Annotated[
        Table[SourceText] | None,
        doc("The body as a form; templates.", {"text": "{{ payload.name }}"}),
    ] = None
    text: Annotated[
        SourceText | None, doc("The body as plain text; a template.", "Order {{ payload.name }}")
    ] = None
    body: Annotated[
        SourceText | None,
        doc(
            "The body as it stands; a template. Without any body: the event.",
            "{{ to_string(payload) }}",
        ),
    ] = None
    accept: Annotated[
        list[SourceText] | None,
        doc(
            "Statuses that mean success: 2xx (default), 409, 500-504.",
            ["2xx", 409],
            pattern=STATUSES.pattern,
        ),
    ] = None
    timeout: Annotated[
        Duration | None, doc("For one call. Default the target's, or 30s.", gt=0)
    ] = None
    auth: Annotated[AuthEntry | None, doc("As in targets.")] = None
    tls: Annotated[TlsEntry | None, doc("As in targets.")] = None
    sign: Annotated[SignEntry | None, doc("As in targets.")] = None


class HttpCompiler:
    """Compiles the `http` actions of one file."""

    def __init__(self, file: CompileContext) -> None:
        self._file = file
        self._context = file.context
        self._target_headers: dict[tuple[str, frozenset[str]], addresses.Headers] = {}

    def __call__(self, entry: HttpEntry, around: Surroundings) -> Compiled:
        """The call, and the name its limits belong to."""
        if entry.short is not None:  # `http: URL` is short for `{url: URL}`
            entry = HttpEntry(node=entry.node, url=entry.short, short=entry.short)
        self._address_keys(entry)
        self._context.above_zero(entry)
        target, url, name = self._place_of_call(entry, around)
        signed = addresses.sign(self._context, entry.sign) or (target.sign if target else None)
        addresses.not_signed_twice(self._context, entry.headers, signed)
        kind, body = self._body(entry, around)
        address = entry.url.value if entry.url else target.url if target else None
        roots, default_s = around.roots, target.timeout_s if target else 30.0
        return HttpSpec(
            target=target,
            url=url,
            method=self._method(entry.method),
            path=self._file.template(entry.path, ExpressionSite("a path", roots)),
            query=self._file.pairs(entry.query, ExpressionSite("a query", roots, "any")),
            headers=self._headers(entry, target, roots),
            body_kind=kind,
            body=body,
            accept=self._accept(entry.accept),
            auth=addresses.auth(self._context, entry.auth) or (target.auth if target else None),
            tls=addresses.tls(self._context, entry.tls, address)
            or (target.tls if target else None),
            sign=signed,
            timeout_s=entry.timeout / 1_000 if entry.timeout else default_s,
            forward_headers=self._forwarded(entry),
        ), name

    def _address_keys(self, entry: HttpEntry) -> None:
        if entry.short is None and not entry.broken & {"target", "url"}:
            self._context.one_of("exactly-one", entry)
        if entry.path is not None and entry.url is not None:
            self._context.error(
                "path-without-target",
                "'path' is appended to a target's address; with 'url' write it there",
                entry.key_at("path"),
            )

    def _place_of_call(
        self, entry: HttpEntry, around: Surroundings
    ) -> tuple[Target | None, Template | None, str | None]:
        if entry.target is not None:
            target = self._file.targets.get(entry.target.value)
            if target is None and entry.target.value not in (self._context.file.targets or ()):
                self._context.unknown("unknown-target", "target", entry.target, self._file.targets)
            return target, None, entry.target.value
        if entry.url is None:
            return None, None, None
        url = self._file.template(entry.url, ExpressionSite("a url", around.roots, "whole"))
        return None, url, self._limit_name(entry.url, url) if url else None

    def _limit_name(self, text: SourceText, url: Template) -> str | None:
        """The unnamed target of a bare address; its scheme and host never hold a template."""
        if url.whole is not None and url.reads == {"secret"}:
            return "secret:" + ",".join(sorted(field for _, field in url.uses))
        literal = url.parts[0] if url.parts and isinstance(url.parts[0], str) else ""
        dynamic = len(url.parts) > 1 or url.whole is not None
        if dynamic and not _AUTHORITY.match(literal):
            self._context.error(
                "template-not-here",
                "scheme and host of a url cannot come from a template",
                text,
                "name a target whose url comes from env or a secret",
            )
            return None
        parts = addresses.checked_url(self._context, text, literal)
        return addresses.limit_name(parts) if parts else None

    def _method(self, text: SourceText | None) -> str:
        if text is None:
            return "POST"
        if text.value not in METHODS:
            found = text.value.upper() if text.value.upper() in METHODS else None
            self._context.error(
                "unknown-value",
                f"'{text.shown}' is not a method",
                text,
                meaning(text.value, [found]) if found else f"known: {', '.join(METHODS)}",
            )
        return text.value

    def _headers(
        self, entry: HttpEntry, target: Target | None, roots: frozenset[str]
    ) -> addresses.Headers:
        place = ExpressionSite("a header", roots, "any")
        own = addresses.headers(self._file.language, entry.headers, place)
        if target is None or not target.headers:
            return own
        key = (target.name, roots)
        if key not in self._target_headers:
            table = self._context.file.targets
            held = table.items[target.name][1] if table else None
            self._target_headers[key] = addresses.headers(
                self._file.language, held.headers if held else None, place
            )
        return addresses.merged(self._target_headers[key], own)

    def _forwarded(self, entry: HttpEntry) -> tuple[str, ...]:
        """The sender's headers to pass on, in lower case; never those of the connection or ours."""
        for text in entry.forward_headers or ():
            if not addresses.forwardable(text.value):
                self._context.error(
                    "bad-header",
                    f"the header '{text.shown}' cannot be forwarded",
                    text,
                    "headers of the connection, credentials and the router's own stay here",
                )
        return tuple(text.value.lower() for text in entry.forward_headers or ())

    def _body(
        self, entry: HttpEntry, around: Surroundings
    ) -> tuple[Literal["default", "json", "form", "text", "body"], Any]:
        place = ExpressionSite("a body", around.roots, "any")
        given = [kind for kind in BODIES if getattr(entry, kind) is not None]
        if len(given) > 1:
            self._context.error(
                "two-bodies",
                f"'{given[0]}' and '{given[1]}' cannot both be the body",
                entry.key_at(given[1]),
            )
        if entry.json is not None:
            return "json", self._file.language.json(entry.json, place)
        if entry.form is not None:
            return "form", self._file.pairs(entry.form, place)
        if entry.text is not None:
            return "text", self._file.template(entry.text, place)
        if entry.body is not None:
            return "body", self._file.template(entry.body, place)
        return "default", None

    def _accept(self, texts: list[SourceText] | None) -> tuple[tuple[int, int], ...]:
        found = []
        for text in texts or ():
            try:
                found.append(statuses(text.value))
            except ValueError as reason:
                self._context.error("bad-value", str(reason), text)
        return tuple(found) or ((200, 299),)


HTTP = Schema(
    kind="http",
    entry=HttpEntry,
    about="Call an address; a lone text is its url.",
    compiler=HttpCompiler,
    look=None,
    offers={"method": METHODS},
)
