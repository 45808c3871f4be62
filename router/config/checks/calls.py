"""Checks of where `http` actions go, and of secrets: written down, or taken there."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from router.config.checks.base import CompiledFile, Found, Place, SourceSpan, TextSpan
from router.config.checks.commands import never_dashed
from router.config.context import NAMING_HINT
from router.config.kinds.http import BODIES, HttpEntry
from router.config.schema import AuthEntry
from router.config.settings import parsed_url
from router.egress import is_local_name, is_private_name, listens_locally
from router.expressions.nodes import path_of
from router.kinds.http import HttpSpec
from router.kinds.templates import texts_in
from router.rules.ruleset import Ruleset
from router.yaml_source import Entry, Scalar, SourceText
from router.yaml_source.credentials import written_secrets

_JSON = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{\"\d])")
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_QUOTE = re.compile(r'(?<!\\)"')
_SENT = frozenset({"a url", "a path", "a query", "a header", "a body"})


def bodies_of_get(file: CompiledFile) -> Found:
    """Bodies that most servers ignore or refuse."""
    for entry, spec in _calls(file):
        if spec.method in ("GET", "HEAD"):
            for kind in BODIES:
                if entry.has(kind):
                    yield (
                        entry.key_at(kind),
                        f"a {spec.method} is sent with a body, which servers ignore or refuse",
                        "hand the values over in 'query', or use another 'method'",
                    )


def json_in_texts(file: CompiledFile) -> Found:
    """Bodies that would be JSON within JSON."""
    for entry, _ in _calls(file):
        node = entry.json if isinstance(entry, HttpEntry) else None
        if isinstance(node, Scalar) and _JSON.match(node.value):
            message = "this is a text that holds JSON: it is sent in quotes, as one text"
            yield node, message, "write it as YAML, 'json: {order: …}', or send it as 'body'"


def texts_within_json(file: CompiledFile) -> Found:
    """Texts of the event between the quotes of JSON that is written by hand."""
    for texts in file.rules:
        for written in texts.written:
            if written.place != "a body" or not _JSON.match(written.text.value):
                continue
            for expression, base in written.expressions:
                before = _TEMPLATE.sub("", written.text.value[:base].rpartition("{{")[0])
                tree = expression.tree
                read = tree.children[0] if tree.value == "default" and tree.children else tree
                free = path_of(read) and not never_dashed(file, texts, expression)
                if free and len(_QUOTE.findall(before)) % 2:
                    yield (
                        TextSpan(written.text, base, base + len(expression.text)),
                        "this value stands between quotes of JSON: one with a quote breaks it",
                        "write the body as YAML under 'json': there all values are escaped",
                    )


def secrets_in_file(file: CompiledFile) -> Found:
    """Credentials that are written down; those of tests and of providers' samples are made up."""
    entry = file.context.file
    apart = [test.node for test in entry.tests or ()]
    apart += [provider.node for _, provider in entry.providers or ()]
    for start, end in written_secrets(file.context.report.source.text):
        if not any(node.start <= start < node.end for node in apart):
            message = "this is a secret's value: whoever reads the file knows it"
            yield SourceSpan(start, end), message, NAMING_HINT


def secrets_in_clear(file: CompiledFile) -> Found:
    """Secrets that travel through the network by plain http."""
    for entry, spec in _calls(file):
        place, url = _address(file, entry, spec)
        if place is None or not url.lower().startswith("http:") or _is_near(url):
            continue
        texts = texts_in(spec.headers, spec.query, spec.path, spec.body)
        if spec.auth is not None or any("secret" in text.roots for text in texts):
            message = "a secret goes to this address by plain http, for everybody on the way"
            yield place, message, "write https://"


def private_names(file: CompiledFile) -> Found:
    """Names of private networks, where the egress rules allow no private address."""
    if file.ruleset.server.egress_allow:
        return
    known, targets = file.ruleset.targets, file.context.file.targets or ()
    own = [_address(file, entry, spec) for entry, spec in _calls(file) if spec.target is None]
    for place, url in [*((e.at("url"), known[n.value].url) for n, e in targets), *own]:
        parts = parsed_url(url or "")
        host = (parts.hostname if parts else None) or "localhost"
        if place is not None and is_private_name(host):
            message = f"'{host}' is a private name, and `server.egress.allow` has no address for it"
            yield place, message, "name their range: `server: {egress: {allow: [10.0.0.0/8]}}`"


def calls_of_itself(file: CompiledFile) -> Found:
    """Calls that the router would take as deliveries."""
    own = dict(_own_addresses(file.ruleset))
    for entry, spec in _calls(file):
        place, url = _address(file, entry, spec)
        path = "" if spec.path is None or spec.path.roots else spec.path.text
        whole = url.partition("?")[0].rstrip("/") + ("/" + path.lstrip("/") if path else "")
        if place is not None and (endpoint := own.get(whole)) is not None:
            yield (
                place,
                f"this is the address of the router's own endpoint '{endpoint}'",
                "what it sends would come back as a delivery",
            )


def signing_secrets_sent(file: CompiledFile) -> Found:
    """Secrets that deliveries are signed with, and that others would get to know."""
    verifies = dict(_signing(file.ruleset))

    def told(name: str) -> str:
        return f"the secret '{name}' verifies what '{verifies[name]}' receives; it is sent here"

    hint = "whoever knows it can forge deliveries: use another secret"
    for written in file.written:
        if written.place in _SENT and "secret" in written.text.value:
            for expression, base in written.expressions:
                for use, (start, end) in expression.spans.items():
                    if use[0] == "secret" and use[1] in verifies:
                        place = TextSpan(written.text, base + start, base + end)
                        yield place, told(use[1]), hint
    for name in _in_auth(file):
        if name.value in verifies:
            yield name, told(name.value), hint


def _calls(file: CompiledFile) -> Iterator[tuple[Entry, HttpSpec]]:
    for _, given, action in file.actions:
        if isinstance(given, Entry) and isinstance(action.spec, HttpSpec):
            yield given, action.spec


def _address(file: CompiledFile, entry: Entry, spec: HttpSpec) -> tuple[Place | None, str]:
    """Where the address of a call is written, and what is known of it."""
    if spec.target is not None:
        table = file.context.file.targets
        target = table.items[spec.target.name][1] if table else None
        return (target.at("url") if target else None), spec.target.url or ""
    literal = spec.url.parts[0] if spec.url else ""
    place = entry.at("url" if isinstance(entry, HttpEntry) else "api_base")
    return place, literal if isinstance(literal, str) else ""


def _is_near(url: str) -> bool:
    """This machine, or a name that only one's own network knows."""
    parts = parsed_url(url.partition("{")[0])
    host = parts.hostname if parts else ""
    local = not host or is_local_name(host) or listens_locally(f"{host}:0")
    return local or is_private_name(host)


def _own_addresses(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """The addresses of the endpoints, as they are told and as they are listened to."""
    server = ruleset.server
    base = urlsplit(server.base_url)
    host, _, port = server.listen.rpartition(":")
    near = (f"http://{one}:{port}" for one in (host, "127.0.0.1", "localhost"))
    places = [f"{base.scheme}://{base.netloc}", *near]
    for name, endpoint in ruleset.addressed.items():
        yield from ((place + path, name) for place in places for path in endpoint.addresses)


def _signing(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """The secrets that both sides hold, and the endpoint of each."""
    for name, endpoint in ruleset.addressed.items():
        provider = ruleset.providers.get(endpoint.provider)
        if provider is not None:
            ways = provider.definition.ways
            keys = any(way.scheme == "hmac" for way in ways) or not provider.definition.generic
            if keys and any(way.shared for way in ways):
                yield from ((secret, name) for secret in endpoint.secrets)


def _in_auth(file: CompiledFile) -> Iterator[SourceText]:
    """The names of secrets that calls prove themselves with."""
    calls = (entry for entry, _ in _calls(file) if isinstance(entry, HttpEntry))
    entries: list[AuthEntry | None] = [entry.auth for entry in calls]
    entries += [target.auth for _, target in file.context.file.targets or ()]
    for entry in entries:
        if entry is not None:
            basic = entry.basic.password if entry.basic else None
            header = (secret for _, secret in entry.header or ())
            yield from filter(None, (entry.bearer, basic, *header))
