"""What must hold between the keys of proof that comes from elsewhere: tokens, published keys."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from router.providers.allowed_hosts import HOST
from router.providers.definition import SIGNATURES, CertificateRule, IntrospectRule, VerifyRule

ONLY: dict[str, tuple[str, ...]] = {
    "jwks_url": ("jwt",),
    "claims": ("jwt", "introspection"),
    "body_hash": (*SIGNATURES, "jwt"),
    "ask": ("jwt",),
    "certificate": ("rsa",),
    "introspect": ("introspection",),
}
"""Which schemes these keys of `verify` belong to."""
ASKED = ("audience", "issuer", "claims", "jwks_url")
"""Keys that a definition may leave to its endpoints."""


def problems(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    """What is wrong with them in one way of proof: (the key, the words)."""
    if rule.scheme == "jwt":
        yield from _token(rule)
    if rule.scheme == "introspection":
        yield from _introspection(rule.introspect or IntrospectRule())
    if rule.certificate is not None:
        yield from _certificate(rule, rule.certificate)
    elif rule.equals is not None:
        yield "equals", "`verify.equals` goes with `certificate`: else the secret is the key"
    if rule.jwks_url is not None and (fault := not_fetched(rule.jwks_url)):
        yield "jwks_url", fault


def _introspection(given: IntrospectRule) -> Iterator[tuple[str, str]]:
    for key in ("url", "client_id", "client_secret"):
        if not getattr(given, key):
            yield "introspect", f"`verify.introspect` needs `{key}`: nobody is asked unproved"
    if given.url and (fault := not_fetched(given.url)):
        yield "introspect", fault


def _certificate(rule: VerifyRule, certificate: CertificateRule) -> Iterator[tuple[str, str]]:
    key, bad = "certificate", [h for h in certificate.hosts if not HOST.fullmatch(h)]
    named = [n for n in certificate.names if not HOST.fullmatch(n) or n.startswith(".")]
    if (certificate.field is None) == (not certificate.header):
        yield key, "`verify.certificate` names the place of its address: `header` or `field`"
    if not certificate.hosts or not certificate.names:
        yield key, "`verify.certificate` needs `hosts` that it may be fetched from, and its `names`"
    for text in bad + named:
        yield key, f"{text!r} is not the name of a host, like sns.example.com or .example.com"
    if rule.equals is None and "{secret}" not in rule.message:
        # The sender signs for everybody who has an account there.
        yield key, "with `certificate`, `equals` or {secret} in `message` says that it is for us"
    if rule.each is not None or rule.key != "text":
        yield key, "`each` and `key` do not go with `certificate`"


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
