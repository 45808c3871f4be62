"""A small real HTTP server that follows the interface's management calls, on loopback."""

import json
import re
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from tests.missed_api import MissedApi

TOKEN = "shpat-0123456789abcdef"
SCOPES = "/admin/oauth/access_scopes.json"
HOOKS = ["192.0.2.0/24", "2001:db8:1::/48"]


class Asked(NamedTuple):
    """One request as it came; header names in lower case. `form` are the fields of a form."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    form: Mapping[str, str] = MappingProxyType({})


class Answer(NamedTuple):
    """
    What is answered in place of what the interface says. `body` may be JSON, text (which is HTML)
    or bytes (which are said to be JSON).
    """

    status: int
    body: Any = b""
    headers: Mapping[str, str] = MappingProxyType({})


class ApiServer:
    """
    `script` holds what the next requests get in place of the right answer: an Answer, or one of
    the words hang, drip, close, garbage. `pages` are
    answered as they are, by path. `topics` are those that GraphQL knows, None for all.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.script: deque[Answer | str] = deque()
        self.topics: set[str] | None = None
        self.hooks: Any = HOOKS
        self.pages: dict[str, Any] = {}
        self.release = threading.Event()
        self.limit: Callable[[], bool] = lambda: False
        self.made: dict[int, dict[str, Any]] = {}
        self.missed = MissedApi(url)
        self.scopes: Any = [{"handle": "read_orders"}, {"handle": "write_customers"}]
        self.scopes_asked = 0

    def answer(self, asked: Asked) -> Answer:
        """What the interface says."""
        if self.limit():
            return Answer(429, {"errors": "Exceeded 4 calls per second"}, {"Retry-After": "2.0"})
        if asked.path in self.pages:
            page = self.pages[asked.path]
            return page if isinstance(page, Answer) else Answer(200, page)
        for pattern, handle in _ROUTES:
            found = re.fullmatch(pattern, f"{asked.method} {asked.path}")
            if found:
                return handle(self, asked, *found.groups())
        return Answer(404, {"errors": "Not Found"})


def _token(asked: Asked) -> str | None:
    h = asked.headers
    return h.get("x-shopify-access-token") or h.get("x-commerce-access-token")


def _scopes(server: ApiServer, asked: Asked) -> Answer:
    if _token(asked) != TOKEN:
        return Answer(401, {"errors": "[API] Invalid API key or access token"})
    return Answer(200, {"access_scopes": server.scopes})


def _create(server: ApiServer, asked: Asked, _version: str) -> Answer:
    if _token(asked) != TOKEN:
        return Answer(401, {"errors": "[API] Invalid API key or access token"})
    webhook = asked.body["webhook"]
    assert set(webhook) == {"topic", "address", "format"}
    assert webhook["format"] == "json"
    taken = [w for w in server.made.values() if w == webhook]
    if taken:
        return Answer(422, {"errors": {"address": ["for this topic has already been taken"]}})
    number = 1000 + len(server.made)
    server.made[number] = webhook
    return Answer(201, {"webhook": {"id": number, **webhook}})


def _notify(server: ApiServer, asked: Asked, _version: str, number: str) -> Answer:
    if _token(asked) != TOKEN:
        return Answer(401, {"errors": "unauthorized"})
    return Answer(200, {}) if int(number) in server.made else Answer(404, {"errors": "Not Found"})


def _graphql(server: ApiServer, asked: Asked, _version: str) -> Answer:
    if _token(asked) != TOKEN:
        return Answer(401, {"errors": "unauthorized"})
    assert "mutation webhookSubscriptionCreate" in asked.body["query"]
    variables = asked.body["variables"]
    given = variables["webhookSubscription"]
    assert set(given) == {"callbackUrl", "format"}
    errors = []
    if server.topics is not None and variables["topic"] not in server.topics:
        errors = [
            {"field": ["topic"], "message": "is not one you may subscribe to"},
            {"field": ["webhookSubscription", "callbackUrl"], "message": "is not allowed"},
            {"field": None, "message": "Try again"},
        ]
    number = 1000 + len(server.made)
    made = None if errors else {"id": f"gid://commerce/WebhookSubscription/{number}"}
    if made:
        server.made[number] = variables
    created = {"webhookSubscription": made, "userErrors": errors}
    return Answer(200, {"data": {"webhookSubscriptionCreate": created}})


def _meta(server: ApiServer, _asked: Asked) -> Answer:
    return Answer(200, {"verifiable_password_authentication": False, "hooks": server.hooks})


def _dispatch(_server: ApiServer, asked: Asked, _owner: str, _repo: str) -> Answer:
    if asked.headers.get("authorization") != f"token {TOKEN}":
        return Answer(401, {"message": "Bad credentials"})
    assert re.fullmatch(r"application/vnd\.[a-z]+\.v3\+json", asked.headers["accept"])
    assert isinstance(asked.body["event_type"], str)
    return Answer(204)


def _bearer(asked: Asked) -> bool:
    return asked.headers.get("authorization") in (f"token {TOKEN}", f"Bearer {TOKEN}")


def _hooks(server: ApiServer, asked: Asked, _of: str) -> Answer:
    if not _bearer(asked):
        return Answer(401, {"message": "Bad credentials"})
    return Answer(200, server.missed.list_hooks())


def _attempts(server: ApiServer, asked: Asked, _of: str, number: str | None) -> Answer:
    if not _bearer(asked):
        return Answer(401, {"message": "Bad credentials"})
    if number not in (None, "s/7"):
        return Answer(404, {"message": "Not Found"})
    page, headers = server.missed.list_attempts(asked.path)
    return Answer(200, page, headers)


def _redeliver(server: ApiServer, asked: Asked, _of: str, _hook: str | None, number: str) -> Answer:
    if not _bearer(asked):
        return Answer(401, {"message": "Bad credentials"})
    found = server.missed.redeliver(int(number))
    return Answer(202, {}) if found else Answer(404, {"message": "Not Found"})


def _events(server: ApiServer, asked: Asked) -> Answer:
    if asked.headers.get("authorization") != f"Bearer {TOKEN}":
        error = {"type": "invalid_request_error", "message": "Expired API Key provided"}
        return Answer(401, {"error": error})
    return Answer(200, server.missed.list_events(asked.path))


_VERSION = r"/admin/api/(\d{4}-\d\d)"
_OF = r"repos/[\w.-]+/[\w.-]+|orgs/[\w.-]+|app"
_ROUTES: tuple[tuple[str, Callable[..., Answer]], ...] = (
    (rf"POST {_VERSION}/webhooks\.json", _create),
    (rf"POST {_VERSION}/webhooks/(\d+)/notifications\.json", _notify),
    (rf"POST {_VERSION}/graphql\.json", _graphql),
    (re.escape(f"GET {SCOPES}"), _scopes),
    (r"GET /meta", _meta),
    (r"GET /(repos/[\w.-]+/[\w.-]+|orgs/[\w.-]+)/hooks\?per_page=100", _hooks),
    (rf"GET /({_OF})/hook(s/\d+)?/deliveries\?.*", _attempts),
    (rf"POST /({_OF})/hook(s/\d+)?/deliveries/(\d+)/attempts", _redeliver),
    (r"GET /v1/events\?.*", _events),
    (r"POST /repos/([\w.-]+)/([\w.-]+)/dispatches", _dispatch),
)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: ApiServer

    def handle_any(self) -> None:
        """Keep the request, answer it by the script or the interface."""
        length = int(self.headers.get("Content-Length", 0))
        data = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_form = "form-urlencoded" in headers.get("content-type", "")
        asked = Asked(
            self.command,
            self.path,
            headers,
            json.loads(data) if data and not is_form else None,
            dict(parse_qsl(data.decode())) if is_form else {},
        )
        if self.path == SCOPES:  # asked for before anything else, and no part of any script
            self.api.scopes_asked += 1
            self._send(self.api.answer(asked))
            return
        self.api.asked.append(asked)
        scripted = self.api.script.popleft() if self.api.script else None
        if isinstance(scripted, str):
            self._misbehave(scripted)
        else:
            self._send(scripted or self.api.answer(asked))

    do_GET = do_POST = handle_any  # noqa: N815 - the library's names

    def _send(self, answer: Answer) -> None:
        body = answer.body
        if not isinstance(body, bytes):
            body = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(answer.status)
        kind = "text/html" if isinstance(answer.body, str) else "application/json"
        own = {"Content-Type": kind} if body else {}
        for name, value in {**own, **answer.headers}.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _misbehave(self, how: str) -> None:
        self.close_connection = True
        if how == "hang":
            self.api.release.wait(30)
        elif how == "drip":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not self.api.release.wait(0.005):
                self.wfile.write(b"x")
        elif how == "garbage":
            self.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Nothing: a test prints what it wants."""

    def handle(self) -> None:
        """A client that leaves early is no fault of a test."""
        try:
            super().handle()
        except (ConnectionError, ssl.SSLError):
            self.close_connection = True


@contextmanager
def api_server(tls: ssl.SSLContext | None = None) -> Iterator[ApiServer]:
    """One on a free port; with `tls` by https."""

    class Handler(_Handler):
        pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    scheme = "http"
    if tls is not None:
        scheme = "https"
        # Shaken hands in the thread of the connection: a client that does not is alone with that.
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    Handler.api = ApiServer(f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Handler.api
    finally:
        Handler.api.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
