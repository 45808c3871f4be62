"""Whatever tokens, key sets, certificates and answers hold: one verdict; PyJWT is the oracle."""

import base64
import contextlib
import hmac
import json
import time
from typing import Any

import jwt
from hypothesis import example, given
from hypothesis import strategies as st

from router.model.delivery import Refused, Verified
from router.providers import Provider, bearer, certificates, certified, ed25519, keys, rsa
from router.providers.certificates import public_key
from router.providers.keys import UnusableKeyError
from router.providers.waiting import Waiting
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    a_request,
    a_secret,
    fixed_bytes,
    invented,
    other_bytes,
)

URL = "https://keys.example/jwks"
TOKENS: dict[str, Any] = {"scheme": "jwt", "audience": "us", "issuer": "them"}
BY_KEY_SET = Provider(a_definition(verify=TOKENS | {"jwks_url": URL}))
BY_SECRET = Provider(a_definition(verify=TOKENS | {"algorithms": ["HS256"]}))
ISSUER = {"url": URL, "client_id": "router", "client_secret": "ours"}
BY_ISSUER = Provider(a_definition(verify={"scheme": "introspection", "introspect": ISSUER}))
CERTIFICATE = {"field": "Cert", "hosts": [".cloud.example"], "names": ["sign.cloud.example"]}
BY_CERTIFICATE = Provider(
    a_definition(
        verify={
            "scheme": "rsa",
            "field": "Signature",
            "encoding": "base64",
            "equals": "Topic",
            "partial": True,
            "message": "{json:Message}\n{json:Topic}\n",
            "certificate": CERTIFICATE,
        },
        samples=[{"for": "*", "payload": {"Message": "one", "Type": "made"}}],
        event={"field": "Type"},
    )
)
DELIVERY = a_delivery(BY_CERTIFICATE, "made")
TOPIC = a_secret(invented(BY_CERTIFICATE).verify)
PUBLISHED = certificates.self_signed(
    rsa.load_private(certified.parted(invented(BY_CERTIFICATE).sign)[1]), CERTIFICATE["names"]
)
SHARED = b"a shared secret of a good length"
OURS = {"EdDSA": ed25519.invent(fixed_bytes), "ES256": keys.invent(fixed_bytes)}
THEIRS = {"EdDSA": ed25519.invent(other_bytes), "ES256": keys.invent(other_bytes)}
KEY_SET = json.dumps(
    {
        "keys": [
            jwt.get_algorithm_by_name(name).to_jwk(bearer.load_private(key)[1].public_key(), True)
            for name, key in OURS.items()
        ]
    }
).encode()
PEM = bearer.key_set_of(OURS["EdDSA"])


def verdict(provider: Provider, token: bytes, answer: bytes | None, now_ms: int = NOW_MS) -> Any:
    """What is made of this Authorization and this answer from elsewhere."""
    request = a_request([("Authorization", token.decode("latin-1"))])
    return answered(provider.judge(request, [a_secret(SHARED)], now_ms=now_ms), answer)


def answered(found: Any, answer: bytes | None) -> Verified | Refused:
    if isinstance(found, Waiting):
        found = found.then(answer)
    assert isinstance(found, Verified | Refused)
    return found


@st.composite
def spoilt(draw: st.DrawFn, text: bytes) -> bytes:
    """A text with a few bytes of it others, cut out or put in."""
    changed = bytearray(text)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(changed)))
        changed[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(changed)


ODD = st.sampled_from([b"null", b"[]", b"{}", b'{"keys":{}}', b'{"keys":[null,[],1]}', b"[" * 9000])
ENTRY = st.dictionaries(
    st.sampled_from(["kty", "crv", "x", "y", "n", "e", "kid", "use", "alg", "key_ops"]),
    st.sampled_from(["RSA", "EC", "OKP", "oct", "P-256", "Ed25519", "AQAB", "A" * 43, "", "é"])
    | st.integers()
    | st.none()
    | st.lists(st.integers(), max_size=1),
)
KEY_SETS = (
    st.binary(max_size=200)
    | ODD
    | spoilt(KEY_SET)
    | spoilt(PEM)
    | st.lists(ENTRY, max_size=3).map(lambda entries: json.dumps({"keys": entries}).encode())
)
TIMES = st.sampled_from([None, -(10**6), -60, 60, 10**6])
CLAIMS = st.fixed_dictionaries(
    {
        "aud": st.sampled_from(["us", "us", "us", ["us", "x"], "them", ["x"], None]),
        "iss": st.sampled_from(["them", "them", "them", "us", None]),
        "exp": st.sampled_from([60, 60, 60, -60, None]),
        "nbf": TIMES,
    }
)
HEADS = st.sampled_from(["EdDSA", "ES256", "HS256", "none", "RS256"])
SIGNERS = st.sampled_from(["ours", "theirs", "key set", "public key", "shared", "nobody"])


def packed(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def signature(signer: str, alg: str, text: bytes) -> bytes:
    """Of a token whose head names any algorithm, by one of ours, of a stranger's, or by nothing."""
    if signer in ("ours", "theirs"):
        name = alg if alg in OURS else "EdDSA"
        key = bearer.load_private((OURS if signer == "ours" else THEIRS)[name])[1]
        return bytes(jwt.get_algorithm_by_name(name).sign(text, key))
    secrets = {"key set": KEY_SET, "public key": PEM, "shared": SHARED}
    if (secret := secrets.get(signer)) is None:
        return b""
    # Not by PyJWT, which knows better than to take a public key for a secret.
    return hmac.digest(secret, text, "sha256")


def a_token(alg: str, signer: str, claims: dict[str, Any], now_s: int) -> bytes:
    timed = {k: v + now_s for k, v in claims.items() if k in ("exp", "nbf") and v is not None}
    data = {k: v for k, v in (claims | timed).items() if v is not None}
    text = b".".join(packed(json.dumps(part).encode()) for part in ({"alg": alg}, data))
    return text + b"." + packed(signature(signer, alg, text))


def holds(token: bytes, provider: Provider) -> bool:
    """What PyJWT says, by the real time."""
    shared = provider is BY_SECRET
    found: list[tuple[Any, str]] = [(SHARED, "HS256")]
    if not shared:
        found = [(bearer.load_private(key)[1].public_key(), name) for name, key in OURS.items()]
    given: dict[str, Any] = {"audience": "us", "issuer": "them", "options": {"require": ["exp"]}}
    for key, algorithm in found:
        with contextlib.suppress(jwt.PyJWTError):
            return bool(jwt.decode(token, key, algorithms=[algorithm], **given))
    return False


@given(alg=HEADS, signer=SIGNERS, claims=CLAIMS)
@example("EdDSA", "ours", {"aud": "us", "iss": "them", "exp": 60, "nbf": None})
@example("HS256", "shared", {"aud": "us", "iss": "them", "exp": 60, "nbf": None})
@example("HS256", "public key", {"aud": "us", "iss": "them", "exp": 60, "nbf": None})
@example("none", "nobody", {"aud": "us", "iss": "them", "exp": 60, "nbf": None})
def test_a_token_holds_where_the_oracle_says_so(
    alg: str, signer: str, claims: dict[str, Any]
) -> None:
    now_s = int(time.time())
    token = a_token(alg, signer, claims, now_s)
    for provider in (BY_KEY_SET, BY_SECRET):
        for key_set in (KEY_SET, PEM) if provider is BY_KEY_SET and alg == "EdDSA" else (KEY_SET,):
            found = verdict(provider, b"Bearer " + token, key_set, now_s * 1000)
            assert isinstance(found, Verified) == holds(token, provider)


GOOD = a_token("EdDSA", "ours", {"aud": "us", "iss": "them", "exp": 10**9}, NOW_MS // 1000)
TOKENS_OF_ANY_BYTES = (
    st.binary(max_size=100)
    | spoilt(b"Bearer " + GOOD)
    | st.lists(st.binary(max_size=40).map(packed), min_size=3, max_size=3).map(
        lambda parts: b"Bearer " + b".".join(parts)
    )
    | st.tuples(ODD, ODD | st.just(b'{"exp":1e999}')).map(
        lambda parts: b"Bearer " + b".".join(map(packed, parts)) + b"."
    )
)


@given(token=TOKENS_OF_ANY_BYTES, key_set=KEY_SETS | st.none())
@example(b"", b'{"keys": [{"kty": []}]}')
def test_any_authorization_and_any_key_set_give_one_verdict(
    token: bytes, key_set: bytes | None
) -> None:
    for provider in (BY_KEY_SET, BY_SECRET, BY_ISSUER):
        verdict(provider, token, key_set)
        found = verdict(provider, token, KEY_SET)
        assert isinstance(found, Refused) or holds(token.removeprefix(b"Bearer "), provider)
    verdict(BY_KEY_SET, b"Bearer " + GOOD, key_set)
    with contextlib.suppress(UnusableKeyError):
        bearer.load_keys(key_set or b"")


ANSWERS = (
    st.binary(max_size=200)
    | ODD
    | spoilt(b'{"active":true,"exp":9999999999,"aud":["x"],"nbf":0}')
    | st.dictionaries(
        st.sampled_from(["active", "exp", "nbf", "aud", "iss"]),
        st.sampled_from([True, False, None, 1, "true", -1e308, 10**30, "us", ["us"], {}]),
    ).map(lambda told: json.dumps(told).encode())
)


@given(answer=ANSWERS)
@example(b'{"active": true}')
@example(b'{"active": 1}')
def test_any_answer_of_an_issuer_gives_one_verdict(answer: bytes) -> None:
    if isinstance(verdict(BY_ISSUER, b"Bearer t", answer), Verified):
        told = json.loads(answer.decode(errors="replace"))
        assert told["active"] is True
        assert told.get("exp") is None or told["exp"] > NOW_MS / 1000
        assert told.get("aud") in (None, [])


@given(certificate=st.binary(max_size=200) | ODD | KEY_SETS | spoilt(PUBLISHED))
@example(PUBLISHED)
def test_any_certificate_gives_one_verdict(certificate: bytes) -> None:
    found = answered(BY_CERTIFICATE.judge(DELIVERY, [TOPIC], now_ms=NOW_MS), certificate)
    if isinstance(found, Verified):
        names = CERTIFICATE["names"]
        assert public_key(certificate, names, NOW_MS) == public_key(PUBLISHED, names, NOW_MS)
