"""
Does an address lead to this router? One request to it, and what the answer says about the way.

Nothing is followed, nothing is signed: our own listener answers such a request with an error
word of its own; whoever else answers is in the way.
"""

import asyncio
from collections.abc import Iterable

import httpx
import msgspec

from router.errors import EgressRefused
from router.plugin_http import async_client
from router.provider_calls.client import hosts_of
from router.refusals import AGENT

TIMEOUT_S = 10.0
ANSWER_MAX = 4096
WORDS = frozenset(
    {"unauthorized", "forbidden", "method_not_allowed", "not_found", "unavailable", "busy"}
    | {"too_large", "unsupported_encoding", "timeout", "refused"}
)
"""What our listener says in `{"error": …}`."""
ADMIN_LOGIN = "/login?next="
"""Where the admin pages send whoever is not logged in."""


class ReachAnswer(msgspec.Struct, frozen=True):
    """
    What came back. `trouble` is why nothing did (status 0). `word` is our listener's error word,
    None for an answer that is not ours; `location` is where a redirect leads.
    """

    status: int = 0
    word: str | None = None
    location: str | None = None
    server: str | None = None
    trouble: str | None = None


class ReachVerdict(msgspec.Struct, frozen=True):
    """Whether the address leads here, in words, and what to do if not."""

    ok: bool
    says: str
    fix: str | None = None


def client(url: str, egress: Iterable[str] = ()) -> httpx.AsyncClient:
    """A client for an address that the operator wrote: private only where it says so itself."""
    return async_client(egress, hosts_of(url))


async def look(
    http: httpx.AsyncClient,
    url: str,
    *,
    method: str = "POST",
    timeout_s: float = TIMEOUT_S,
) -> ReachAnswer:
    """Send one request, without a signature. Never raises."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _answer(http, url, method)
    except TimeoutError:
        return ReachAnswer(trouble="timeout")
    except EgressRefused:
        return ReachAnswer(trouble="private")
    except httpx.HTTPError as error:
        return ReachAnswer(trouble=_trouble(error))
    except (httpx.InvalidURL, ValueError):
        return ReachAnswer(trouble="malformed")


async def _answer(http: httpx.AsyncClient, url: str, method: str) -> ReachAnswer:
    headers = {
        "User-Agent": AGENT.decode("ascii"),
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
    }
    async with http.stream(method, url, headers=headers, content=b"{}") as response:
        body = b""
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > ANSWER_MAX:
                break
        return ReachAnswer(
            response.status_code,
            _word(body),
            response.headers.get("location"),
            response.headers.get("server"),
        )


def _word(body: bytes) -> str | None:
    try:
        found = msgspec.json.decode(body, type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    word = found.get("error")
    return word if len(found) == 1 and word in WORDS else None


def _trouble(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "timeout"
    text = str(error)
    return next((word for sign, word in _SIGNS if sign in text), "broken")


_SIGNS = (
    ("certificate has expired", "tls_expired"),
    ("self-signed", "tls_self_signed"),
    ("self signed", "tls_self_signed"),
    ("unable to get local issuer", "tls_chain"),
    ("Hostname mismatch", "tls_name"),
    ("IP address mismatch", "tls_name"),
    ("CERTIFICATE_VERIFY_FAILED", "tls"),
    ("WRONG_VERSION_NUMBER", "not_tls"),
    ("record layer failure", "not_tls"),
    ("HTTP_REQUEST", "not_tls"),
    ("SSL", "tls"),
    ("TLS", "tls"),
    ("the name was not found", "no_name"),
    ("All connection attempts failed", "nobody"),
    ("no connection", "nobody"),
    ("Connection refused", "nobody"),
)


def judge(seen: ReachAnswer) -> ReachVerdict:
    """What an answer says of the way from here to the router."""
    if seen.trouble is not None:
        return ReachVerdict(False, *_TROUBLES.get(seen.trouble, _TROUBLES["broken"]))
    answer = f"{seen.status}" + (f" {seen.word}" if seen.word else "")
    if seen.word is not None:
        return _ours(seen, answer)
    if (seen.location or "").startswith(ADMIN_LOGIN):
        return ReachVerdict(
            False,
            f"the router's admin pages answer there, not its intake ({answer})",
            "point the address at the port of `server.listen`, not to that of `server.admin`",
        )
    if 300 <= seen.status < 400:
        to = f" to {seen.location[:200]}" if seen.location else ""
        return ReachVerdict(
            False,
            f"it is redirected ({answer}){to}",
            "senders do not follow redirects: set base_url to the final address",
        )
    by = f" (server: {seen.server[:60]})" if seen.server else ""
    says, fix = next((says, fix) for range_, says, fix in _FOREIGN if seen.status in range_)
    return ReachVerdict(False, f"{says}: {answer}{by}", fix)


def _ours(seen: ReachAnswer, answer: str) -> ReachVerdict:
    if seen.word == "not_found":
        return ReachVerdict(
            False,
            f"a router answers there, but does not know this address ({answer})",
            "a proxy changes the path (base_url's path must reach the router), or that router has "
            "another rules file: reload it",
        )
    if seen.status == 503:
        return ReachVerdict(
            False,
            f"the router answers, but accepts nothing now ({answer})",
            "see its log: the store cannot commit, or is full",
        )
    return ReachVerdict(True, f"a request from this machine reached the router ({answer})")


_TROUBLES: dict[str, tuple[str, str]] = {
    "timeout": (
        "nothing answers in time",
        "a firewall drops packets, or a tunnel is not active: open the port, start the tunnel",
    ),
    "private": (
        "its name resolves to a private address, which the internet cannot reach",
        "let public DNS name a public one; where only your inner DNS says so, check from outside",
    ),
    "no_name": (
        "its name is not found",
        "set up DNS for it, or start the tunnel whose name it is",
    ),
    "nobody": (
        "nothing listens there",
        "start the proxy, or the tunnel; and `router serve` behind it",
    ),
    "tls_expired": ("its certificate has expired", "renew the certificate"),
    "tls_self_signed": (
        "its certificate is self-signed: senders do not trust it",
        "use a certificate of a public authority",
    ),
    "tls_chain": (
        "its certificate is not trusted: the chain is not whole, or of a private authority",
        "have the proxy send the intermediate certificates too",
    ),
    "tls_name": (
        "its certificate is for another name",
        "use a certificate for the host of base_url",
    ),
    "tls": ("the TLS handshake fails", "look at the certificate and TLS set-up of the proxy"),
    "not_tls": (
        "what listens there does not speak TLS",
        "the router itself speaks plain HTTP: put a proxy with TLS before it, or fix the port",
    ),
    "malformed": ("it is no address to call", "write base_url like https://hooks.example.com"),
    "broken": (
        "the connection broke",
        "something on the way ends connections: a proxy, a tunnel, another program on that port",
    ),
}
_FOREIGN: tuple[tuple[range, str, str], ...] = (
    (
        range(100, 300),
        "another page answers in the router's place",
        "a tunnel's own page, another site or another program: point the address at the router",
    ),
    (
        range(401, 402),
        "something before the router asks for credentials",
        "let the endpoints' addresses pass without: senders prove themselves by signatures",
    ),
    (
        range(403, 404),
        "something before the router refuses the request",
        "a firewall for web applications or an access rule: let POST pass to these addresses",
    ),
    (
        range(404, 405),
        "another server answers that there is no such page",
        "start the tunnel, or give the proxy a route: point the address at the router",
    ),
    (
        range(405, 406),
        "something before the router blocks POST",
        "let the proxy pass POST to these addresses",
    ),
    (
        range(502, 505),
        "a proxy answers, but does not reach the router",
        "start `router serve`, and point the proxy at `server.listen`",
    ),
    (
        range(1000),
        "something else answers in the router's place",
        "point the address at the router, unchanged",
    ),
)
