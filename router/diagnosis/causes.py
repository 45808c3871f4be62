"""The causes that a diagnosis can find: each with what it says and how to mend it."""

from collections.abc import Sequence

import msgspec

from router.diagnosis.originals import Original

_RAW = "hand the bytes on exactly as they came: no body parser, no rewriting in between"


class DiagnosisFinding(msgspec.Struct, frozen=True):
    """
    One cause. `sure`: it was proved, the signature is true but for this; else it may be the cause.
    """

    code: str
    sure: bool
    says: str
    fix: str


def genuine(endpoint: str, *, unsigned: bool) -> DiagnosisFinding:
    """Nothing is wrong with it here and now."""
    if unsigned:
        says = f"endpoint {endpoint} verifies nothing (`verify: none`)"
        return DiagnosisFinding("unsigned", True, says, "look at the reason of the refusal instead")
    return DiagnosisFinding(
        "genuine",
        True,
        f"it verifies with the secrets of {endpoint} that are set here",
        "the running router has others: restart or reload it with these, and have it sent again",
    )


def broken_key(name: str, why: str) -> DiagnosisFinding:
    """A secret that can verify nothing."""
    return DiagnosisFinding(
        "key_unusable", True, f"secret {name} cannot be used: {why}", key_fix(why)
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


def no_secret(ended: Sequence[str]) -> DiagnosisFinding:
    """Nothing may verify any more."""
    if ended:
        says = f"no secret is live: the day of {', '.join(ended)} (`until`) has passed"
        return DiagnosisFinding("no_secret", True, says, "name the secret that the sender uses now")
    return DiagnosisFinding(
        "no_secret",
        True,
        "no secret of this endpoint has a value here",
        "set it, or run this with the server's environment",
    )


def header_twice(header: str) -> DiagnosisFinding:
    """Two values, and no way to tell which is the sender's."""
    return DiagnosisFinding(
        "header_twice",
        True,
        f"header {header} came twice, with different values",
        "something on the way adds its own: have it replace headers from outside, or leave them",
    )


def hidden() -> DiagnosisFinding:
    """A token or password, which is never kept."""
    return DiagnosisFinding(
        "hidden",
        False,
        "what proves this request is the secret itself, and was removed before it was kept",
        "capture the request where it is sent and give it with --request FILE",
    )


def clock(late_ms: int, *, known: bool) -> DiagnosisFinding:
    """Signed too long before, or after, it came."""
    seconds = abs(late_ms) // 1000
    side = "before" if late_ms > 0 else "after"
    if not known:
        says = f"the signature is right, but was made {length(seconds)} {side} now"
        fix = "nobody says when the request came; for an old capture this is no fault"
        return DiagnosisFinding("clock", False, says, fix)
    says = f"the signature is right, but was made {length(seconds)} {side} the request came"
    if late_ms < 0:
        fix = "our clock is slow, or the sender's fast: keep this machine's by NTP"
    else:
        fix = (
            "our clock is fast (keep it by NTP), or the request lay somewhere or was sent again: "
            "then give the endpoint a longer `tolerance`"
        )
    return DiagnosisFinding("clock", True, says, fix)


def token_expired(hint: str) -> DiagnosisFinding:
    """A bearer token out of its time."""
    return DiagnosisFinding(
        "clock",
        True,
        f"{hint or 'the token has expired'} by our clock",
        "have the sender take a new token; if it is new, keep this machine's clock by NTP",
    )


def ended(name: str) -> DiagnosisFinding:
    """The old secret of a rotation."""
    return DiagnosisFinding(
        "secret_ended",
        True,
        f"it is signed with {name}, whose day (`until`) has passed",
        "have the sender use the new secret, or move `until` until it does",
    )


def given(name: str) -> DiagnosisFinding:
    """A secret that the file does not name."""
    return DiagnosisFinding(
        "secret_other",
        True,
        f"it fits {name}, which is not what this endpoint has",
        "set that one as the endpoint's secret",
    )


def other_endpoint(other: str, endpoint: str) -> DiagnosisFinding:
    """Right for a neighbour."""
    return DiagnosisFinding(
        "other_endpoint",
        True,
        f"it is right for endpoint {other}, not for {endpoint}",
        f"give the sender the address of {other} (`router addresses`), or the secret of {endpoint}",
    )


def swapped(other: str, endpoint: str) -> DiagnosisFinding:
    """Signed by the right sender, with what another sender should have."""
    return DiagnosisFinding(
        "secret_swapped",
        True,
        f"it is signed with the secret of endpoint {other}, another sender's",
        f"give the sender of {endpoint} its own secret, or set that one here for {endpoint}",
    )


def miscopied(name: str, how: str) -> DiagnosisFinding:
    """The right secret but for a slip."""
    return DiagnosisFinding(
        "secret_miscopied",
        True,
        f"it fits secret {name} {how}",
        f"set {name} so, or give the sender exactly what is set here",
    )


def signature_form(how: str) -> DiagnosisFinding:
    """Right, but not written as this sender writes it."""
    return DiagnosisFinding(
        "signature_form",
        True,
        f"the signature is right but came {how}",
        "something on the way rewrites the header, or the sender signs otherwise than this "
        "provider: describe it under `providers:` (`router new provider` says how)",
    )


_ALTERED = {
    "parsed": (
        "body_parsed",
        "the body was parsed and written anew on its way",
        f"a proxy, function or framework before the router parses the JSON: {_RAW}",
    ),
    "line_breaks": (
        "body_line_breaks",
        "line breaks of the body were changed on its way",
        f"a proxy, a tool or an editor changed them: {_RAW}",
    ),
    "charset": (
        "body_charset",
        "the body was written in another encoding on its way",
        f"something reads it as text in the wrong encoding: {_RAW}",
    ),
    "wrapped": (
        "body_wrapped",
        "the body was packed, or taken out of its packing, on its way",
        f"a gateway or function wraps or unwraps bodies; set it to pass them through: {_RAW}",
    ),
    "cut": (
        "body_longer",
        "more bytes are here than were sent",
        f"in a file it is the line break that editors add; else something appends: {_RAW}",
    ),
}


def altered(original: Original) -> DiagnosisFinding:
    """The signature is true for another body."""
    code, says, fix = _ALTERED[original.kind]
    return DiagnosisFinding(code, True, f"{says}: the signature fits the body {original.how}", fix)


def empty_signed() -> DiagnosisFinding:
    """The sender signed nothing."""
    return DiagnosisFinding(
        "body_parsed",
        True,
        "the signature fits an empty body: the sender signed before it wrote the body",
        "if the sender is yours, sign the bytes that are sent",
    )


def header_renamed(name: str) -> DiagnosisFinding:
    """The signature is there, elsewhere."""
    return DiagnosisFinding(
        "header_renamed",
        True,
        f"the signature came in header {name}, not where this provider has it",
        "something on the way renames headers: pass them through as they are, or name that header "
        "in a provider of your own",
    )


def other_sender(label: str, name: str, *, sure: bool) -> DiagnosisFinding:
    """Another definition's signature."""
    says = f"it is signed as {label} signs" if sure else f"its headers are those of {label}"
    fix = f"write `provider: {name}` at this endpoint, or give that sender an endpoint of its own"
    return DiagnosisFinding("other_provider", sure, says, fix)


def header_missing(names: Sequence[str]) -> DiagnosisFinding:
    """A part of the signed text is not there."""
    return DiagnosisFinding(
        "header_missing",
        True,
        f"header {', '.join(names)}, which is part of what is signed, did not come",
        "something on the way drops headers: let it pass all of them",
    )


def no_signature(places: Sequence[str], hint: str) -> DiagnosisFinding:
    """Nothing proves it."""
    return DiagnosisFinding(
        "signature_missing",
        False,
        f"no signature came ({' or '.join(dict.fromkeys(places))}): {hint}",
        "give the sender the secret, or switch signing on there; if it signs, a proxy drops the "
        "header",
    )


def malformed(hint: str) -> DiagnosisFinding:
    """Not to be read as a signature."""
    return DiagnosisFinding(
        "signature_malformed",
        False,
        hint,
        "something on the way changes the header, or another sender calls here",
    )


def truncated(size: int, announced: int) -> DiagnosisFinding:
    """Bytes are missing."""
    return DiagnosisFinding(
        "body_truncated",
        False,
        f"{size} bytes of body are here, {announced} were announced (Content-Length)",
        f"the end of the body was cut off, or its length changed: {_RAW}",
    )


def cut_short(size: int) -> DiagnosisFinding:
    """JSON that ends too early, whatever was announced."""
    return DiagnosisFinding(
        "body_truncated",
        False,
        f"the body ({size} bytes) begins as JSON and is not whole",
        f"something on the way cut it off or rewrote it: {_RAW}",
    )


def no_body() -> DiagnosisFinding:
    """Nothing came."""
    return DiagnosisFinding(
        "body_lost",
        False,
        "the body is empty",
        "a redirect (http to https, a slash at the end) turns POST into GET and drops the body: "
        "give the sender the final address",
    )


def encoded() -> DiagnosisFinding:
    """Compressed."""
    return DiagnosisFinding(
        "body_encoded",
        False,
        "the body is compressed",
        f"senders sign what they send uncompressed; something on the way compressed it: {_RAW}",
    )


def charset_lost() -> DiagnosisFinding:
    """U+FFFD."""
    return DiagnosisFinding(
        "body_charset",
        False,
        "the body holds the sign that replaces unreadable characters (U+FFFD)",
        f"something decoded it in the wrong encoding, which cannot be undone: {_RAW}",
    )


def keys_sorted() -> DiagnosisFinding:
    """Alphabetical keys."""
    return DiagnosisFinding(
        "body_parsed",
        False,
        "all keys of the body are in alphabetical order, as senders hardly write them: it was "
        "probably parsed and written anew",
        f"a proxy, function or framework before the router parses the JSON: {_RAW}",
    )


def wrong_secret(names: Sequence[str]) -> DiagnosisFinding:
    """Nothing else fits."""
    whose = ", ".join(names) or "none"
    says = f"it fits no secret of this endpoint ({whose}), nor any alteration that we know"
    fix = (
        "compare the secret here with the one at the sender, character for character, and set it "
        "anew on both sides; were they the same, the body would have been changed on its way"
    )
    return DiagnosisFinding("secret_wrong", False, says, fix)


def length(seconds: int) -> str:
    """`45 s`, `12 m 3 s`, `5 h 2 m`, `3 d 4 h`."""
    for unit, smaller, size in (("d", "h", 86_400), ("h", "m", 3_600), ("m", "s", 60)):
        if seconds >= size:
            rest = seconds % size // {"h": 3_600, "m": 60, "s": 1}[smaller]
            return f"{seconds // size} {unit} {rest} {smaller}"
    return f"{seconds} s"
