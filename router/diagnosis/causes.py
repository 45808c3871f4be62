"""The causes that a diagnosis can find: each with what it says and how to mend it."""

from typing import Any

import msgspec

from router.diagnosis.originals import Kind
from router.legible import span

_RAW = "hand the bytes on exactly as they came: no body parser, no rewriting in between"


class DiagnosisFinding(msgspec.Struct, frozen=True):
    """
    One cause. `sure`: it was proved, the signature is true but for this; else it may be the cause.
    """

    code: str
    sure: bool
    says: str
    fix: str


class CauseText(msgspec.Struct, frozen=True):
    """What a finding of this cause says; names in braces are filled in."""

    code: str
    says: str
    fix: str
    sure: bool = True


CAUSES = {
    "genuine": CauseText(
        "genuine",
        "it verifies with the secrets of {endpoint} that are set here",
        "the running router has others: restart or reload it with these, and have it sent again",
    ),
    "handshake_answered": CauseText(
        "genuine",
        "it is a handshake, and {endpoint} answers it with the secrets that are set here",
        "the running router has others: restart or reload it with these, and have it asked again",
    ),
    "handshake_token": CauseText(
        "handshake",
        "it is a handshake, but its token is no secret of {endpoint}",
        "give the sender a secret of this endpoint as its token",
    ),
    "handshake_unknown": CauseText(
        "handshake",
        "{why}",
        "`router providers {provider}` tells what this sender asks before it sends",
    ),
    "unsigned": CauseText(
        "unsigned",
        "endpoint {endpoint} verifies nothing (`verify: none`)",
        "look at the reason of the refusal instead",
    ),
    "key_unusable": CauseText("key_unusable", "secret {name} cannot be used: {why}", "{fix}"),
    "secrets_ended": CauseText(
        "no_secret",
        "no secret is valid: {names} expired (`until`)",
        "name the secret that the sender uses now",
    ),
    "no_secret": CauseText(
        "no_secret",
        "no secret of this endpoint has a value here",
        "set it, or run this with the server's environment",
    ),
    "header_twice": CauseText(
        "header_twice",
        "header {header} came twice, with different values",
        "something on the way adds its own: have it replace headers from outside, or leave them",
    ),
    "hidden": CauseText(
        "hidden",
        "what proves this request is the secret itself, and was removed before it was kept",
        "capture the request where it is sent and give it with --request FILE",
        sure=False,
    ),
    "clock_unknown": CauseText(
        "clock",
        "the signature is right, but was made {length} {side} now",
        "it is not known when the request came; for an old capture this is no fault",
        sure=False,
    ),
    "clock_slow": CauseText(
        "clock",
        "the signature is right, but was made {length} {side} the request came",
        "our clock is slow, or the sender's fast: keep this machine's by NTP",
    ),
    "clock_fast": CauseText(
        "clock",
        "the signature is right, but was made {length} {side} the request came",
        "our clock is fast (keep it by NTP), or the request was delayed or sent again: "
        "then give the endpoint a longer `tolerance`",
    ),
    "token_expired": CauseText(
        "clock",
        "{hint} by our clock",
        "have the sender get a new token; if it is new, keep this machine's clock by NTP",
    ),
    "secret_ended": CauseText(
        "secret_ended",
        "it is signed with {name}, which has expired (`until`)",
        "have the sender use the new secret, or move `until` until it does",
    ),
    "secret_other": CauseText(
        "secret_other",
        "it verifies with {name}, which is not a secret of this endpoint",
        "set that one as the endpoint's secret",
    ),
    "other_endpoint": CauseText(
        "other_endpoint",
        "it is right for endpoint {other}, not for {endpoint}",
        "give the sender the address of {other} (`router addresses`), or the secret of {endpoint}",
    ),
    "secret_swapped": CauseText(
        "secret_swapped",
        "it is signed with the secret of endpoint {other}, another sender's",
        "give the sender of {endpoint} its own secret, or set that one here for {endpoint}",
    ),
    "secret_miscopied": CauseText(
        "secret_miscopied",
        "it fits secret {name} {how}",
        "set {name} so, or give the sender exactly what is set here",
    ),
    "signature_form": CauseText(
        "signature_form",
        "the signature is right but came {how}",
        "something on the way rewrites the header, or the sender signs otherwise than this "
        "provider: describe it under `providers:` (`router new provider` says how)",
    ),
    "empty_signed": CauseText(
        "body_parsed",
        "the signature fits an empty body: the sender signed before it wrote the body",
        "if the sender is yours, sign the bytes that are sent",
    ),
    "address_told": CauseText(
        "address_told",
        "the signature fits the address {url}, and not {told}",
        "set `public_url: {url}` at endpoint {endpoint}, or give the sender our address",
    ),
    "header_renamed": CauseText(
        "header_renamed",
        "the signature came in header {name}, not where this provider has it",
        "something on the way renames headers: pass them through as they are, or name that header "
        "in a provider of your own",
    ),
    "other_provider": CauseText(
        "other_provider",
        "it is signed as {label} signs",
        "write `provider: {name}` at this endpoint, or give that sender an endpoint of its own",
    ),
    "looks_like_other": CauseText(
        "other_provider",
        "its headers are those of {label}",
        "write `provider: {name}` at this endpoint, or give that sender an endpoint of its own",
        sure=False,
    ),
    "header_missing": CauseText(
        "header_missing",
        "header {names}, which is part of what is signed, did not come",
        "something on the way drops headers: let it pass all of them",
    ),
    "signature_missing": CauseText(
        "signature_missing",
        "no signature came ({places}): {hint}",
        "give the sender the secret, or switch signing on there; if it signs, a proxy drops the "
        "header",
        sure=False,
    ),
    "signature_malformed": CauseText(
        "signature_malformed",
        "{hint}",
        "something on the way changes the header, or another sender calls here",
        sure=False,
    ),
    "body_truncated": CauseText(
        "body_truncated",
        "{size} bytes of body are here, {announced} were announced (Content-Length)",
        f"the end of the body was cut off, or its length changed: {_RAW}",
        sure=False,
    ),
    "cut_short": CauseText(
        "body_truncated",
        "the body ({size} bytes) starts as JSON but is incomplete",
        f"something on the way cut it off or rewrote it: {_RAW}",
        sure=False,
    ),
    "body_lost": CauseText(
        "body_lost",
        "the body is empty",
        "a redirect (http to https, a slash at the end) turns POST into GET and drops the body: "
        "give the sender the final address",
        sure=False,
    ),
    "body_encoded": CauseText(
        "body_encoded",
        "the body is compressed",
        f"senders sign what they send uncompressed; something on the way compressed it: {_RAW}",
        sure=False,
    ),
    "charset_lost": CauseText(
        "body_charset",
        "the body holds the sign that replaces unreadable characters (U+FFFD)",
        f"something decoded it in the wrong encoding, which cannot be undone: {_RAW}",
        sure=False,
    ),
    "key_failed": CauseText(
        "unknown_key",
        "the {what} at {address} could not be fetched: {why}",
        "see that this machine reaches that address by https and gets a {what} from it; it is "
        "fetched again by itself, and the sender tries again",
    ),
    "key_later": CauseText(
        "unknown_key",
        "the router fetched the {what} at {address}, but when this came it lacked the key",
        "a key that is missed is fetched again within a minute, and the sender tries again; if "
        "this goes on, the sender signs with a key that it does not publish there",
        sure=False,
    ),
    "key_not_here": CauseText(
        "unknown_key",
        "the {what} at {address} is not at hand here",
        "have the running router judge it: have it sent again; `router doctor` says beside it "
        "whether it knows that {what}",
        sure=False,
    ),
    "issuer_failed": CauseText(
        "not_answered",
        "{address} gave no answer about a token: {why}",
        "see that this machine reaches that address within a second, and that `client_id` and "
        "`client_secret` are those that the issuer knows; the sender tries again",
    ),
    "issuer_later": CauseText(
        "not_answered",
        "{address} gave no answer about this token, and has answered since",
        "have it sent again; if this goes on, the issuer takes longer than a second",
        sure=False,
    ),
    "issuer_not_here": CauseText(
        "not_answered",
        "what {address} says of the token is not asked from here",
        "have it sent again: the running router asks; `router doctor` says beside it how that went",
        sure=False,
    ),
    "keys_sorted": CauseText(
        "body_parsed",
        "all keys of the body are in alphabetical order, as senders hardly ever write: it was "
        "probably parsed and serialized again",
        f"a proxy, function or framework before the router parses the JSON: {_RAW}",
        sure=False,
    ),
    "secret_wrong": CauseText(
        "secret_wrong",
        "it fits no secret of this endpoint ({names}), nor any alteration that we know",
        "compare the secret here with the one at the sender, character for character, and set it "
        "again on both sides; were they the same, the body would have been changed on its way",
        sure=False,
    ),
}
ALTERED: dict[Kind, CauseText] = {
    "parsed": CauseText(
        "body_parsed",
        "the body was parsed and serialized again on its way: the signature fits the body {how}",
        f"a proxy, function or framework before the router parses the JSON: {_RAW}",
    ),
    "line_breaks": CauseText(
        "body_line_breaks",
        "line breaks of the body were changed on its way: the signature fits the body {how}",
        f"a proxy, a tool or an editor changed them: {_RAW}",
    ),
    "charset": CauseText(
        "body_charset",
        "the body was written in another encoding on its way: the signature fits the body {how}",
        f"something reads it as text in the wrong encoding: {_RAW}",
    ),
    "wrapped": CauseText(
        "body_wrapped",
        "the body was wrapped or unwrapped on its way: the signature fits the body {how}",
        f"a gateway or function wraps or unwraps bodies; set it to pass them through: {_RAW}",
    ),
    "cut": CauseText(
        "body_longer",
        "the body has more bytes than were sent: the signature fits the body {how}",
        f"in a file it is the line break that editors add; else something appends: {_RAW}",
    ),
}
"""What was changed, where the signature is true for another body."""


def finding(cause: CauseText | str, **values: Any) -> DiagnosisFinding:
    """A cause, or the one of this name in CAUSES, with these values filled in."""
    found = CAUSES[cause] if isinstance(cause, str) else cause
    says, fix = found.says.format_map(values), found.fix.format_map(values)
    return DiagnosisFinding(found.code, found.sure, says, fix)


def clock(late_ms: int, *, known: bool) -> DiagnosisFinding:
    """Signed too long before, or after, it came; `known`: somebody says when it came."""
    return finding(
        "clock_unknown" if not known else "clock_slow" if late_ms < 0 else "clock_fast",
        length=span(abs(late_ms)),
        side="before" if late_ms > 0 else "after",
    )


def key_fix(why: str) -> str:
    """How to mend a key, by what is wrong with it."""
    if "PEM has no end" in why:
        return (
            "its line breaks were lost and only the first line is left: put the PEM into a file "
            "and name it with `file:`, or set it on one line with `\\n` for each line break"
        )
    if "private key" in why:
        return "set the public key that the sender shows for verification"
    if "key of a pair" in why:
        return "set the secret that both sides hold, not a public key"
    return "copy it again, whole, from where the sender shows it"
