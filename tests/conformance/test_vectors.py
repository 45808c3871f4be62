"""
Published signatures of other projects' tests and documentation get their published verdict.

They are read where they are at hand. Ten mutations of each valid one are refused.
"""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from tests.unit.providers.makers import (
    a_definition,
    a_provider,
    a_request,
    a_secret,
    changed,
    with_header,
)

VECTORS = Path(__file__).parents[2] / ".." / "shared" / "vectors" / "signatures.json"

BUILT_IN = {
    "github-sha256": "github",
    "shopify-hmac-sha256": "shopify",
    "sendgrid-ecdsa": "sendgrid",
    "gitea-hmac-sha256": "gitea",
    "gogs-hmac-sha256": "gogs",
    "slack-v0": "slack",
    "stripe": "stripe",
    "standard-webhooks": "standard-webhooks",
    "standard-webhooks-asymmetric": "standard-webhooks",
    "svix": "svix",
    "gitlab-token": "gitlab",
}
WRITTEN: dict[str, dict[str, Any]] = {
    "hub-sha256": {"header": "X-Hub-Signature", "prefix": "sha256="},
    "hub-sha512": {"header": "X-Hub-Signature", "prefix": "sha512=", "algorithm": "sha512"},
    "convoy-sha512-hex": {"header": "X-Convoy-Signature", "algorithm": "sha512"},
    "convoy-sha512-base64": {
        "header": "X-Convoy-Signature",
        "algorithm": "sha512",
        "encoding": "base64",
    },
    "shopify-events-hmac-sha256": {"header": "shopify-hmac-sha256", "encoding": "base64"},
}
"""Schemes that a user's definition describes."""

REFUSED = {"github-sha1"}
"""SHA-1 proves too little."""


def every() -> list[dict[str, Any]]:
    return list(json.loads(VECTORS.read_text())["vectors"]) if VECTORS.exists() else []


def params(expect: str | None = None) -> list[Any]:
    if not VECTORS.exists():
        skip = pytest.mark.skip(reason="the published vectors are not beside this repository")
        return [pytest.param(None, marks=skip, id="no-vectors")]
    return [
        pytest.param(v, id=v["name"])
        for v in every()
        if v["scheme"] not in REFUSED and v["expect"] in (expect or "valid invalid")
    ]


def provider_of(vector: dict[str, Any]) -> Provider:
    scheme = vector["scheme"]
    if scheme in BUILT_IN:
        return a_provider(BUILT_IN[scheme])
    return Provider(a_definition(verify={"scheme": "hmac"} | WRITTEN[scheme]))


def request_of(vector: dict[str, Any]) -> InboundRequest:
    return a_request(vector["headers"].items(), base64.b64decode(vector["body_base64"]))


def judged(
    vector: dict[str, Any], request: InboundRequest, secret: bytes | None = None
) -> Verified | Refused:
    value = (vector.get("secret") or vector["public_key"]).encode() if secret is None else secret
    return provider_of(vector).verify(
        request,
        [a_secret(value)],
        now_ms=int(vector.get("now") or 0) * 1000,
        tolerance_s=vector.get("tolerance_s"),
    )


def test_every_scheme_is_known() -> None:
    known = BUILT_IN.keys() | WRITTEN.keys() | REFUSED
    assert {v["scheme"] for v in every()} <= known


@pytest.mark.parametrize("vector", params())
def test_published_vectors(vector: dict[str, Any]) -> None:
    request = request_of(vector)
    found = judged(vector, request)
    assert isinstance(found, Verified if vector["expect"] == "valid" else Refused)
    provider_of(vector).read(request)


@pytest.mark.parametrize("vector", params("valid"))
def test_ten_mutations_of_each_are_refused(vector: dict[str, Any]) -> None:
    request = request_of(vector)
    assert isinstance(judged(vector, request), Verified)
    found = [judged(vector, mutant) for mutant in mutants(vector, request)]
    found.append(judged(vector, request, other_secret(vector)))
    assert len(found) >= 10
    assert all(isinstance(verdict, Refused) for verdict in found), found


def mutants(vector: dict[str, Any], request: InboundRequest) -> Iterator[InboundRequest]:
    scheme = json.loads(VECTORS.read_text())["schemes"][vector["scheme"]]
    name = scheme["header"].lower().encode()
    good = dict(request.headers)[name]
    near = [near_proof(good, change) for change in CHANGES]
    yield from (with_header(request, name, proof) for proof in near if proof != good)
    yield changed(request, headers=tuple(h for h in request.headers if h[0] != name))
    yield changed(request, headers=(*request.headers, (name, good + b"0")))
    if scheme["type"] == "token":  # it signs nothing: a changed body stays valid
        yield from (with_header(request, name, proof) for proof in (good * 2, good[::-1], b" "))
        return
    body = request.body
    for altered in (body + b"\n", bytes([body[0] ^ 1]) + body[1:], body[1:], b" " + body):
        yield changed(request, body=altered)
    for part in ("id_header", "timestamp_header"):
        header = scheme.get(part, "").lower().encode()
        if header:
            yield with_header(request, header, dict(request.headers)[header] + b"1")


CHANGES: tuple[Callable[[bytes], bytes], ...] = (
    lambda text: text[:-1],
    lambda text: text + b"A",
    lambda text: text[:-3] + bytes([text[-3] ^ 1]) + text[-2:],
    lambda text: b"x" + text,
    lambda text: text.swapcase(),
    lambda text: b"",
)


def near_proof(good: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Every signature of a list is changed: one that stays good would be enough."""
    separator = b" " if b" " in good else b"," if good.startswith(b"t=") else None
    each = good.split(separator) if separator else [good]
    return (separator or b"").join(change(text) for text in each)


def other_secret(vector: dict[str, Any]) -> bytes:
    if "public_key" not in vector:
        secret: str = vector["secret"]
        marked = secret.startswith("whsec_") and vector["scheme"] != "stripe"
        return b"whsec_" + b"QUJD" * 8 if marked else secret.encode() + b"x"
    if vector["scheme"] == "sendgrid-ecdsa":
        return a_provider("sendgrid").invent_secret(lambda n: b"7" * n).verify
    return b"whpk_" + base64.b64encode(b"7" * 32)
