"""Whatever bytes arrive: Verified or Refused, a Reading, and never an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Reading
from router.providers.structure import depth
from tests.unit.providers.makers import (
    PROVIDERS,
    a_delivery,
    a_provider,
    a_secret,
    changed,
    invented,
)

NAMES = sorted(
    {
        name.lower().encode()
        for provider in PROVIDERS
        for name, _ in a_provider(provider).sign(
            event="x",
            body=b"",
            key=invented(a_provider(provider)).sign,
            delivery_id="x",
            now_ms=0,
        )
    }
    | {b"x-host-event", b"x-commerce-hmac-sha256", b"x-hub-signature", b"accept"}
)
FRAGMENTS = st.sampled_from(
    [b"[", b"]", b"{", b"}", b'"', b"\\", b",", b":", b'"event"', b"1e999", b"\xff", b"0", b" "]
)
BODIES = st.one_of(st.binary(max_size=300), st.lists(FRAGMENTS, max_size=120).map(b"".join))
VALUES = st.one_of(
    st.binary(max_size=100),
    st.just(b"application/x-www-form-urlencoded"),
    st.binary(max_size=40).map(lambda raw: b"sha256=" + raw.hex().encode()),
)
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=8).map(tuple)


@pytest.mark.parametrize("name", PROVIDERS)
@given(
    headers=HEADERS,
    body=BODIES,
    secrets=st.lists(st.binary(max_size=60), max_size=4),
    now_ms=st.integers(0, 2**45),
    tolerance_s=st.none() | st.integers(0, 10**9),
)
def test_any_request_gets_a_verdict_and_a_reading(
    name: str,
    headers: tuple[tuple[bytes, bytes], ...],
    body: bytes,
    secrets: list[bytes],
    now_ms: int,
    tolerance_s: int | None,
) -> None:
    provider = a_provider(name)
    request = InboundRequest("POST", b"/", b"", headers, body, "", 0)
    live = [a_secret(value, str(i)) for i, value in enumerate(secrets)]
    found = provider.verify(request, live, now_ms=now_ms, tolerance_s=tolerance_s)
    assert isinstance(found, Refused)
    assert found.hint
    assert isinstance(provider.accept_unsigned(request), Verified | Refused)
    reading = provider.read(request)
    assert isinstance(reading, Reading)
    assert reading.state == "routed" or (reading.events == () and reading.reason)
    provider.check_secret(body)


@pytest.mark.parametrize("name", PROVIDERS)
@given(body=BODIES)
def test_what_is_signed_is_verified_and_nothing_else(name: str, body: bytes) -> None:
    provider = a_provider(name)
    request = a_delivery(provider, "any", body=body)
    live = [a_secret(invented(provider).verify)]
    assert provider.verify(request, live, now_ms=0) == Verified("main")
    altered = changed(request, body=body + b" ")
    assert isinstance(provider.verify(altered, live, now_ms=0), Refused)
    assert provider.read(request).state in ("routed", "unparsed", "too_complex")


@given(body=BODIES)
def test_depth_never_fails(body: bytes) -> None:
    assert isinstance(depth(body), int)
