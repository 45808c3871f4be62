"""Bearer tokens: signed by a known key, for us, now; nothing else."""

import base64
import hashlib
import hmac
import json
import sys
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import (
    Provider,
    bearer,
    ed25519,
    keys,
)
from router.providers.waiting import PublishedKey, Waiting
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    a_request,
    a_secret,
    changed,
    fixed_bytes,
    other_bytes,
    verdict,
)

NOW = NOW_MS // 1000
UNPROVED = {"verify_signature": False}
CLAIMS: dict[str, Any] = {"iss": "https://sender.test", "aud": "us", "exp": NOW + 60}
RULE: dict[str, Any] = {"scheme": "jwt", "audience": "us", "issuer": "https://sender.test"}
SENDER = Provider(a_definition(verify=RULE))
ED = ed25519.invent(fixed_bytes)
EC = keys.invent(fixed_bytes)
RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2048).private_bytes(
    s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()
)
OF = {"EdDSA": ED, "ES256": EC, "RS256": RSA}


def a_token(algorithm: str = "EdDSA", head: Any = None, key: Any = None, **claims: Any) -> str:
    data = {k: v for k, v in (CLAIMS | claims).items() if v is not None}
    return str(jwt.encode(data, key or OF[algorithm], algorithm=algorithm, headers=head))


def bearing(token: str, word: str = "Bearer ") -> InboundRequest:
    return a_request([("Authorization", word + token)])


def judged(token: str, provider: Provider = SENDER, *secrets: bytes, **given: Any) -> str | None:
    found = verdict(provider, bearing(token), *(secrets or (bearer.key_set_of(ED),)), **given)
    return found.reason if isinstance(found, Refused) else None


def a_jwk(private: bytes, **more: Any) -> dict[str, Any]:
    algorithm, key = bearer.load_private(private)
    kind = jwt.get_algorithm_by_name(algorithm)
    return dict(json.loads(kind.to_jwk(key.public_key()))) | more


@pytest.mark.parametrize("algorithm", OF)
def test_a_token_of_each_algorithm(algorithm: str) -> None:
    pem = bearer.key_set_of(OF[algorithm])
    lone = json.dumps(a_jwk(OF[algorithm])).encode()
    several = json.dumps({"keys": [a_jwk(k, kid=n) for n, k in OF.items()]}).encode()
    for key_set in (pem, lone, several):
        assert judged(a_token(algorithm), SENDER, key_set) is None
        assert SENDER.check_secret(key_set).ok
    assert judged(a_token(algorithm, {"kid": algorithm}), SENDER, several) is None
    assert judged(a_token(algorithm, {"kid": "other"}), SENDER, several) == "bad_signature"


def test_only_the_algorithms_that_are_named() -> None:
    strict = Provider(a_definition(verify=RULE | {"algorithms": ["RS256"]}))
    assert judged(a_token("RS256"), strict, bearer.key_set_of(RSA)) is None
    assert judged(a_token("EdDSA"), strict) == "malformed_signature"


def test_no_unsigned_tokens_and_none_signed_with_the_public_key() -> None:
    unsigned = jwt.encode(CLAIMS, None, algorithm="none")
    assert judged(unsigned) == "malformed_signature"
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').rstrip(b"=").decode()
    forged = jwt.encode(CLAIMS, "x" * 64, algorithm="HS256")
    assert judged(forged) == "malformed_signature"
    assert judged(".".join([head, *a_token().split(".")[1:]])) == "malformed_signature"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": NOW}, "expired_token"),
        ({"exp": NOW - 3600}, "expired_token"),
        ({"exp": None}, "malformed_signature"),
        ({"exp": "soon"}, "malformed_signature"),
        ({"nbf": NOW + 1}, "expired_token"),
        ({"nbf": NOW}, None),
        ({"iss": "https://other.test"}, "wrong_claims"),
        ({"iss": None}, "wrong_claims"),
        ({"aud": "them"}, "wrong_claims"),
        ({"aud": None}, "wrong_claims"),
        ({"aud": ["them", "us"]}, None),
        ({"aud": []}, "wrong_claims"),
        ({"exp": NOW + 0.5}, None),
    ],
)
def test_claims(claims: dict[str, Any], reason: str | None) -> None:
    assert judged(a_token(**claims)) == reason


def test_tolerance_is_leeway() -> None:
    assert judged(a_token(exp=NOW - 5), SENDER, tolerance_s=10) is None
    assert judged(a_token(nbf=NOW + 5), SENDER, tolerance_s=10) is None
    lenient = Provider(a_definition(verify=RULE | {"tolerance": "10s"}))
    assert judged(a_token(exp=NOW - 5), lenient) is None
    assert judged(a_token(exp=NOW - 11), lenient) == "expired_token"


def test_a_token_for_somebody_is_not_for_whoever_names_nobody() -> None:
    by_issuer = Provider(a_definition(verify={"scheme": "jwt", "issuer": "https://sender.test"}))
    assert judged(a_token(aud=None), by_issuer) is None
    assert judged(a_token(), by_issuer) == "wrong_claims"


def test_changed_tokens_are_refused() -> None:
    token = a_token()
    for index in range(0, len(token), 7):
        near = token[:index] + ("A" if token[index] != "A" else "B") + token[index + 1 :]
        assert judged(near) is not None
    for near in ("", "a.b", "a.b.c", token + ".", token + "=", token * 30, token.replace(".", " ")):
        assert judged(near) is not None
    assert isinstance(verdict(SENDER, a_request(), bearer.key_set_of(ED)), Refused)
    other = bearer.key_set_of(ed25519.invent(other_bytes))
    assert judged(token, SENDER, other) == "bad_signature"


def test_extensions_that_are_critical_are_not_understood() -> None:
    token = a_token()
    assert judged(token) is None
    head = jwt.get_unverified_header(token) | {"crit": ["exp"]}
    raw = base64.urlsafe_b64encode(json.dumps(head).encode()).rstrip(b"=").decode()
    assert judged(".".join([raw, *token.split(".")[1:]])) == "malformed_signature"


@pytest.mark.parametrize(
    "key_set",
    [
        b"",
        b"{}",
        b"[]",
        b"5",
        b'{"keys":[]}',
        b'{"keys":5}',
        b'{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}',
        b'{"keys":[{"kty":"RSA"},{"kty":"EC","crv":"P-256"},5,null]}',
        b"-----BEGIN PUBLIC KEY-----",
        b"a secret",
        b"[" * 100_000,
        ED,
    ],
)
def test_what_is_no_key_set_verifies_nothing(key_set: bytes) -> None:
    assert not SENDER.check_secret(key_set).ok
    assert isinstance(verdict(SENDER, bearing(a_token()), key_set), Refused)


def test_private_and_weak_keys_are_no_keys_of_a_set() -> None:
    private = json.dumps(a_jwk(ED, d="AAAA")).encode()
    weak = rsa.generate_private_key(public_exponent=65_537, key_size=1024).public_key()  # noqa: S505 (weak on purpose)
    pem = weak.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    for key_set in (private, pem, json.dumps(a_jwk(ED, use="enc")).encode()):
        assert not SENDER.check_secret(key_set).ok


def test_what_is_sent_is_verified() -> None:
    for algorithms in (["RS256"], ["ES256"], ["EdDSA"]):
        sender = Provider(a_definition(verify=RULE | {"algorithms": algorithms}))
        made = sender.invent_secret(fixed_bytes)
        headers = sender.sign(event="x", body=b"", key=made.sign, delivery_id="1", now_ms=NOW_MS)
        request = a_request(headers, b"{}")
        assert verdict(sender, request, made.verify) == Verified("s0")
        assert sender.can_sign(made.sign)
        assert not sender.can_sign(made.verify)


@pytest.mark.parametrize("odd", ["+", "/", "="])
@pytest.mark.parametrize("part", [0, 1])
def test_a_token_in_another_alphabet_is_none(odd: str, part: int) -> None:
    """A `=` at the end would only be padding, were it allowed."""
    pieces = a_token().split(".")
    pieces[part] = pieces[part][:-1] + odd if odd != "=" else pieces[part] + "=="
    assert judged(".".join(pieces)) == "malformed_signature"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)  # as if it were not installed
    with pytest.raises(keys.UnusableKeyError, match="need the extra `jwt`"):
        bearer.load_keys(bearer.key_set_of(ED))
    with pytest.raises(keys.UnusableKeyError, match="need the extra `jwt`"):
        bearer.token(SENDER.definition.ways[0], ED, NOW_MS)


def test_a_weak_private_key_signs_nothing() -> None:
    weak = rsa.generate_private_key(public_exponent=65_537, key_size=1024)  # noqa: S505 (on purpose)
    pem = weak.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    with pytest.raises(keys.UnusableKeyError, match="the key is not RSA"):
        bearer.load_private(pem)
    with pytest.raises(keys.UnusableKeyError, match="this is no private key in PEM form"):
        bearer.load_private(b"no key")


def test_a_key_set_has_bounds() -> None:
    """Bytes, and keys: those beyond the first 32 are not looked at."""
    padded = bearer.key_set_of(ED)
    exact = padded + b" " * (bearer.KEY_SET_BYTES_MAX - len(padded))
    assert len(bearer.load_keys(exact)) == 1
    with pytest.raises(keys.UnusableKeyError, match="a key set is shorter than 65536 bytes"):
        bearer.load_keys(exact + b" ")
    several = [a_jwk(ED, kid=str(number)) for number in range(bearer.KEYS_MAX + 1)]
    found = bearer.load_keys(json.dumps({"keys": several}).encode())
    assert [key.id for key in found] == [str(number) for number in range(32)]


def test_the_key_that_is_named_is_the_one_that_counts() -> None:
    """A key without a name is any; a name that is no text is none."""
    other = ed25519.invent(other_bytes)
    named = json.dumps({"keys": [a_jwk(ED, kid="a"), a_jwk(other, kid="b")]}).encode()
    assert judged(a_token(head={"kid": "a"}), SENDER, named) is None
    assert judged(a_token(head={"kid": "b"}), SENDER, named) == "bad_signature"
    assert judged(a_token(head={"kid": "b"}, key=other), SENDER, named) is None
    nameless = json.dumps(a_jwk(ED, kid=5)).encode()
    assert [key.id for key in bearer.load_keys(nameless)] == [None]
    assert judged(a_token(head={"kid": "a"}), SENDER, nameless) is None


def test_an_invented_key_is_for_the_quickest_algorithm() -> None:
    for algorithms in (["RS256", "ES256", "EdDSA"], ["RS256", "ES256"], ["RS256"]):
        made = bearer.invent(algorithms, fixed_bytes)
        assert bearer.load_private(made)[0] == algorithms[-1]


def test_what_an_own_token_claims() -> None:
    text = bearer.token(SENDER.definition.ways[0], ED, NOW_MS)
    claims = jwt.decode(text, options=UNPROVED)
    assert claims == {
        "iat": NOW,
        "exp": NOW + 300,
        "sub": "router-send",
        "iss": "https://sender.test",
        "aud": "us",
    }
    bare = a_definition(verify={"scheme": "jwt", "audience": "us"})
    reported = jwt.decode(bearer.token(bare.ways[0], ED, NOW_MS), options=UNPROVED)
    assert set(reported) == {"iat", "exp", "sub", "aud"}


def test_no_token_is_a_missing_one() -> None:
    for request in (a_request(), a_request([("Authorization", "")])):
        found = verdict(SENDER, request, bearer.key_set_of(ED))
        assert isinstance(found, Refused)
        assert (found.reason, found.status) == ("missing_signature", 401)


def test_the_longest_token() -> None:
    """8,192 bytes are judged, one more is not."""
    short = len(a_token(pad=""))
    fits = a_token(pad="x" * ((8192 - short) * 3 // 4 - 2))
    while len(fits) < 8190:
        fits = a_token(pad="x" * (len(jwt.decode(fits, options=UNPROVED)["pad"]) + 1))
    assert 8190 <= len(fits) <= 8192
    exact = fits + "A" * (8192 - len(fits))
    assert judged(exact) in (None, "bad_signature")
    assert judged(exact + "A") == "malformed_signature"


@pytest.mark.parametrize(("bits", "usable"), [(2047, False), (2048, True), (2049, True)])
def test_a_modulus_has_2048_bits(bits: int, usable: bool) -> None:
    key = rsa.RSAPublicNumbers(65_537, (1 << (bits - 1)) | 1).public_key()
    pem = key.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    assert SENDER.check_secret(pem).ok is usable


def test_a_refusal_has_the_status_that_the_sender_is_to_get() -> None:
    gone = Provider(a_definition(verify=RULE, refuse_with=403))
    key = bearer.key_set_of(ED)
    for request, reason in (
        (a_request(), "missing_signature"),
        (bearing("junk"), "malformed_signature"),
        (bearing(a_token(key=ed25519.invent(other_bytes))), "bad_signature"),
        (bearing(a_token(exp=NOW - 1)), "expired_token"),
        (bearing(a_token(aud="them")), "wrong_claims"),
    ):
        found = verdict(gone, request, key)
        assert isinstance(found, Refused)
        assert (found.reason, found.status) == (reason, 403)


def test_of_several_key_sets_the_first_that_holds_the_key_is_named() -> None:
    other = bearer.key_set_of(ed25519.invent(other_bytes))
    own = bearer.key_set_of(ED)
    for sets, name in (((other, own), "s1"), ((own, other), "s0"), ((own, own), "s0")):
        assert verdict(SENDER, bearing(a_token()), *sets) == Verified(name)


def test_the_pem_of_a_key_of_another_kind_is_none_of_ours() -> None:
    p384 = ec.derive_private_key(7, ec.SECP384R1())
    public = p384.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(keys.UnusableKeyError, match="the key is not RSA"):
        bearer.load_keys(public)
    private = p384.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    with pytest.raises(keys.UnusableKeyError, match="the key is not RSA"):
        bearer.load_private(private)
    curve = dict(json.loads(jwt.get_algorithm_by_name("ES384").to_jwk(p384.public_key())))
    with pytest.raises(keys.UnusableKeyError, match="holds no public"):
        bearer.load_keys(json.dumps(curve).encode())


@pytest.mark.parametrize("algorithm", OF)
def test_a_private_key_in_a_set_is_none_of_it(algorithm: str) -> None:
    """Whoever pastes one has shown it; it is not to be used on."""
    name, key = bearer.load_private(OF[algorithm])
    private = dict(json.loads(jwt.get_algorithm_by_name(name).to_jwk(key)))
    assert "d" in private
    with pytest.raises(keys.UnusableKeyError, match="holds no public"):
        bearer.load_keys(json.dumps(private).encode())
    both = json.dumps({"keys": [private, a_jwk(ED, kid="public")]}).encode()
    assert [found.id for found in bearer.load_keys(both)] == ["public"]


# -- one secret of both sides ------------------------------------------------------------------

SECRET = b"0123456789abcdef0123456789abcdef"
SHARED = Provider(
    a_definition(
        verify={
            "scheme": "jwt",
            "header": "X-Token",
            "algorithms": ["HS256"],
            "issuer": "https://sender.test",
            "body_hash": {"claim": "sha256"},
        }
    )
)
BODY = b'{"a": 1}'


def shown(token: str, body: bytes = BODY, *secrets: bytes) -> str | None:
    found = verdict(SHARED, a_request([("X-Token", token)], body), *(secrets or (SECRET,)))
    return found.reason if isinstance(found, Refused) else None


def a_shared_token(key: Any = SECRET, **claims: Any) -> str:
    said = {"aud": None, "exp": None, "sha256": hashlib.sha256(BODY).hexdigest()}
    return a_token("HS256", key=key, **(said | claims))


def test_a_token_of_the_shared_secret_covers_the_body() -> None:
    assert shown(a_shared_token()) is None
    assert shown(a_shared_token(), BODY, b"another secret of enough bytes", SECRET) is None
    assert shown(a_shared_token(), BODY + b" ") == "bad_signature"
    assert shown(a_shared_token(), BODY, b"another secret of enough bytes") == "bad_signature"
    assert shown(a_shared_token(sha256=None)) == "bad_signature"
    assert shown(a_shared_token(exp=NOW - 1)) == "expired_token"
    assert shown(a_shared_token(iss="them")) == "wrong_claims"
    assert shown(a_token("EdDSA", aud=None, exp=None)) == "malformed_signature"
    head, said, _ = a_shared_token().split(".")
    for signature in ("", "=", "%"):
        assert shown(f"{head}.{said}.{signature}") == "bad_signature"


def test_our_own_token_of_a_shared_secret_is_what_others_read() -> None:
    made = bearer.token(SHARED.definition.verify, SECRET, NOW_MS, BODY)
    assert shown(made) is None
    given = jwt.decode(made, SECRET, algorithms=["HS256"], options={"verify_exp": False})
    assert given["sha256"] == hashlib.sha256(BODY).hexdigest()
    assert given["iss"] == "https://sender.test"


def test_no_public_key_is_a_shared_secret() -> None:
    public = bearer.key_set_of(ED)
    head, said, _ = a_shared_token().split(".")
    signed = f"{head}.{said}".encode()
    forged = base64.urlsafe_b64encode(hmac.digest(public, signed, "sha256")).rstrip(b"=")
    assert shown(f"{head}.{said}.{forged.decode()}", BODY, public) == "bad_signature"
    assert not SHARED.check_secret(public).ok
    assert SHARED.check_secret(SECRET).ok


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"email": "ada@example.com", "email_verified": True}, None),
        ({"email": "ada@example.com", "email_verified": 1}, "wrong_claims"),
        ({"email": "eve@example.com", "email_verified": True}, "wrong_claims"),
        ({"email": ["ada@example.com"], "email_verified": True}, "wrong_claims"),
        ({"email_verified": True}, "wrong_claims"),
    ],
)
def test_claims_that_must_equal(claims: dict[str, Any], reason: str | None) -> None:
    wanted = {"email": "ada@example.com", "email_verified": True}
    sender = Provider(a_definition(verify=RULE | {"claims": wanted}))
    assert judged(a_token(**claims), sender) == reason


# -- keys that the sender publishes --------------------------------------------------------------

URL = "https://keys.example/jwks"
PUBLISHED = Provider(a_definition(verify=RULE | {"jwks_url": URL}))


def by(key_set: bytes | None, token: str) -> str | None:
    """The verdict with what is known of the published keys, and no secret at all."""
    found = PUBLISHED.judge(bearing(token), (), now_ms=NOW_MS)
    if isinstance(found, Waiting):
        assert found.ask == PublishedKey(URL)
        found = found.then(key_set)
    assert not isinstance(found, Waiting)
    return f"{found.reason} {found.status}" if isinstance(found, Refused) else None


def a_set(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"keys": entries}).encode()


def test_published_keys() -> None:
    known = a_set(a_jwk(ED, kid="1"), a_jwk(RSA, kid="2"))
    assert by(known, a_token(head={"kid": "1"})) is None
    assert by(known, a_token("RS256", {"kid": "2"})) is None
    assert by(known, a_token()) is None
    assert PUBLISHED.keyless


@pytest.mark.parametrize("known", [None, b"", b"{}", b"no JSON", a_set(a_jwk(ED, kid="2"))])
def test_an_unknown_key_is_worth_asking_again(known: bytes | None) -> None:
    assert by(known, a_token(head={"kid": "1"})) == "unknown_key 503"
    assert by(known, a_token(head={"kid": "1"}, aud="them")) == "wrong_claims 401"
    assert by(known, a_token(head={"kid": "1"}, exp=NOW - 1)) == "expired_token 401"


def test_a_known_key_that_has_not_signed_is_final() -> None:
    other = ed25519.invent(other_bytes)
    known = a_set(a_jwk(ED, kid="1"))
    assert by(known, a_token(head={"kid": "1"}, key=other)) == "bad_signature 401"
    assert by(known, a_token(key=other)) == "bad_signature 401"
    assert by(known, "no.token") == "malformed_signature 401"


def test_where_nobody_can_be_asked() -> None:
    found = PUBLISHED.verify(bearing(a_token()), (), now_ms=NOW_MS)
    assert isinstance(found, Refused)
    assert URL in str(found.hint)


def test_of_several_ways_one_may_wait() -> None:
    other = RULE | {"header": "X-Token", "jwks_url": URL}
    both = Provider(a_definition(verify=RULE, also=[other]))
    request = a_request([("X-Token", a_token()), ("Authorization", "Bearer x")])
    secrets = [a_secret(bearer.key_set_of(ED))]
    waits = both.judge(request, secrets, now_ms=NOW_MS)
    assert isinstance(waits, Waiting)
    assert isinstance(waits.then(a_set(a_jwk(ED))), Verified)
    assert waits.then(None) == both.verify(request, secrets, now_ms=NOW_MS)
    assert isinstance(both.judge(bearing(a_token()), secrets, now_ms=NOW_MS), Verified)


def test_of_ways_together_all_are_needed() -> None:
    signed = {"scheme": "ed25519", "header": "X-S"}
    other = RULE | {"header": "X-Token", "jwks_url": URL}
    both = Provider(a_definition(verify=signed, also=[other], together=True))
    whole = a_delivery(both, "made")
    assert isinstance(verdict(both, whole), Verified)
    for without in (b"x-s", b"x-token"):
        headers = tuple(pair for pair in whole.headers if pair[0] != without)
        assert isinstance(verdict(both, changed(whole, headers=headers)), Refused)
    wrong = tuple((n, v[:-4] + b"AAAA" if n == b"x-token" else v) for n, v in whole.headers)
    assert isinstance(verdict(both, changed(whole, headers=wrong)), Refused)
    assert isinstance(verdict(both, changed(whole, body=whole.body + b" ")), Refused)
    assert not isinstance(both.judge(changed(whole, body=b""), (), now_ms=NOW_MS), Waiting)
