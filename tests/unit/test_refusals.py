"""Refused requests kept whole: few, bounded, only where somebody wants them."""

import pytest

from router.errors import NotFound
from router.refusals import BODY_MAX, KEPT_MAX, Refusals
from tests.builders import a_request


def kept(wanted: bool = True) -> Refusals:
    return Refusals(lambda: wanted)


def test_the_newest_is_the_last_of_its_endpoint() -> None:
    ring = kept()
    first = ring.keep("shop", "bad_signature", 1, a_request(body=b"1"))
    second = ring.keep("code", "bad_signature", 2, a_request(body=b"2"))
    assert ring.get("last").id == second
    assert ring.get("last", "shop").id == first
    assert ring.get(first).request.body == b"1"


def test_only_so_many_are_kept() -> None:
    ring = kept()
    ids = [ring.keep("shop", "x", n, a_request()) for n in range(KEPT_MAX + 1)]
    assert len(set(ids)) == len(ids)
    assert ring.get(ids[1]).at == 1
    with pytest.raises(NotFound, match=f"only the last {KEPT_MAX}"):
        ring.get(ids[0])


def test_of_a_large_body_only_the_size() -> None:
    ring = kept()
    name = ring.keep("shop", "x", 1, a_request(body=b"x" * (BODY_MAX + 1)))
    found = ring.get(name)
    assert (found.cut, found.request.body, found.body_bytes) == (True, b"", BODY_MAX + 1)
    name = ring.keep("shop", "x", 1, a_request(body=b"x" * BODY_MAX))
    assert not ring.get(name).cut


def test_nothing_kept_says_how_to_keep() -> None:
    with pytest.raises(NotFound, match="bodies: true"):
        Refusals().get("last")
    with pytest.raises(NotFound, match=r"endpoint shop is kept$"):
        kept().get("last", "shop")
