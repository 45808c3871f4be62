"""What must hold between the keys of proof that comes from elsewhere: tokens, published keys."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from router.providers.definition import SIGNATURES, VerifyRule

ONLY: dict[str, tuple[str, ...]] = {
    "jwks_url": ("jwt",),
    "claims": ("jwt",),
    "body_hash": (*SIGNATURES, "jwt"),
    "ask": ("jwt",),
}
"""Which schemes these keys of `verify` belong to."""
ASKED = ("audience", "issuer", "claims", "jwks_url")
"""Keys that a definition may leave to its endpoints."""


def problems(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    """What is wrong with them in one way of proof: (the key, the words)."""
    if rule.scheme == "jwt":
        yield from _token(rule)
    if rule.jwks_url is not None and (fault := not_fetched(rule.jwks_url)):
        yield "jwks_url", fault


def not_fetched(address: str) -> str:
    """Why nothing is fetched from an address, "" if it may be."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or not address.isascii() or not address.isprintable() or " " in address:
        return f"{address[:80]!r} is not an address"
    if parts.scheme != "https":
        return f"a key is fetched by https: {address[:80]!r} could be anybody's"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "an address to fetch from has no user, password or fragment"
    return ""


def _token(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    hashes = rule.body_hash is not None and bool(rule.body_hash.claim)
    named = bool(rule.audience or rule.issuer) or {"audience", "issuer"} & set(rule.ask)
    if not rule.algorithms:
        yield "algorithms", "`verify.algorithms` is one or more of RS256 ES256 EdDSA, or HS256"
    if rule.shared and len(rule.algorithms) > 1:
        # Whoever knows a public key could sign with it, were it taken for the shared secret.
        yield "algorithms", "HS256 stands alone: its secret is shared, the others' keys are public"
    if rule.shared and rule.keyless:
        yield "jwks_url", "HS256 takes the endpoint's secret: a key that is published is none"
    if not named and not hashes:
        yield "audience", "a jwt needs `audience` or `issuer`: else any token of that key fits"
    if rule.body_hash is not None and not hashes:
        yield "body_hash", "`verify.body_hash` of a jwt is `{claim: NAME}`"
    for asked in rule.ask:
        if asked.partition(".")[0] not in ASKED or ("." in asked and asked[:7] != "claims."):
            yield "ask", f"`verify.ask` names {', '.join(ASKED)} or claims.NAME, not {asked!r}"
