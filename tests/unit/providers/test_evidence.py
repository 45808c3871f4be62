"""What a proof reads of a request that is not proved yet: addresses, forms, fields and times."""

from collections.abc import Mapping

import pytest

from router.providers.evidence import Evidence, UnreadableProofError, of_field, of_json, of_query
from router.providers.times import READERS
from tests.unit.providers.makers import NOW_MS, a_request, changed

NOW = NOW_MS // 1000
FORM = [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")]


def evidence(body: bytes = b"{}", query: bytes = b"", form: bool = False) -> Evidence:
    request = changed(a_request(FORM if form else [], body), query_string=query)
    return Evidence({}, request)


@pytest.mark.parametrize(
    ("told", "query", "url", "path"),
    [
        ("https://a.example", b"", b"https://a.example/wh_x", b"/wh_x"),
        ("https://a.example/", b"a=%20&b", b"https://a.example/wh_x?a=%20&b", b"/wh_x"),
        ("https://a.example:8443/in/1", b"a=1", b"https://a.example:8443/in/1?a=1", b"/in/1"),
        ("http://a.example/in/", b"", b"http://a.example/in/", b"/in/"),
        ("", b"a=1", None, b"/wh_x"),
    ],
)
def test_the_address_is_the_one_that_the_sender_was_told(
    told: str, query: bytes, url: bytes | None, path: bytes
) -> None:
    request = changed(a_request(), public_url=told, query_string=query)
    found = Evidence({}, request)
    assert (found.url, found.path) == (url, path)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"b=2&a=1", b"a1b2"),
        (b"a=%C3%A9+%26&A=x", "Axaé &".encode()),
        (b"a=2&a=1&a=2", b"a1a2"),
        (b"a=&b", b"ab"),
        (b"ab=c&a=bc", b"abcabc"),
        (b"", b""),
    ],
)
def test_a_form_is_signed_by_its_names(body: bytes, expected: bytes) -> None:
    assert evidence(body, form=True).form_sorted == expected


def test_what_is_no_form_is_not_signed_as_one() -> None:
    assert evidence(b"a=1").form_sorted is None
    assert evidence(b"").form_sorted == b""  # sent by GET, all of it stands in the address
    for body in (b"a=%zz", b"&" * 200):
        with pytest.raises(UnreadableProofError):
            _ = evidence(body, form=True).form_sorted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b'"\\u00e9"', "é".encode()),
        (b"1.50", b"1.50"),
        (b"1e5", b"1e5"),
        (b"-7", b"-7"),
        (b"true", b"true"),
        (b"false", b"false"),
        (b'""', b""),
        (b"null", None),
        (b"[1]", None),
        (b'{"b":1}', None),
    ],
)
def test_a_field_is_what_stands_there(value: bytes, text: bytes | None) -> None:
    body = b'{"a":{"0":%s,"l":[%s]}}' % (value, value)
    for path in ("a.0", "a.l.0"):
        assert of_json(path)(evidence(body)) == of_field(path)(evidence(body)) == text
    assert of_json("a.0.x")(evidence(body)) is None
    assert of_json("a.l.1")(evidence(body)) is None


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"a":"\\ud800"}', b"\xff", b"[" * 100 + b"]" * 100, b" " * 65_537 + b"{}"]
)
def test_what_cannot_be_read_is_said(body: bytes) -> None:
    with pytest.raises(UnreadableProofError) as caught:
        of_json("a")(evidence(body))
    assert caught.value.reason == "unreadable_body"


def test_a_body_that_is_proved_is_read_whole() -> None:
    found = evidence(b" " * 65_537 + b'{"a":1}')
    found.proved = True
    assert of_json("a")(found) == b"1"


def test_what_came_twice_and_differs_is_ambiguous() -> None:
    assert of_query("a")(evidence(query=b"a=%31&a=1&b=2")) == b"1"
    assert of_field("a")(evidence(b"a=1&a=%31", form=True)) == b"1"
    assert of_query("c")(evidence(query=b"a=1")) is None
    twice = (
        lambda: of_query("a")(evidence(query=b"a=1&a=2")),
        lambda: of_field("a")(evidence(b"a=1&a=2", form=True)),
    )
    for read in twice:
        with pytest.raises(UnreadableProofError) as caught:
            read()
        assert caught.value.reason == "ambiguous_header"


def test_items_of_a_batch_are_read_one_by_one() -> None:
    found = evidence(b'{"value":[{"a":1},{"a":2}],"none":[],"text":"x"}')
    assert [of_json("a")(one) for one in found.items("value")] == [b"1", b"2"]
    assert found.items(None) == [found]
    for path in ("none", "text", "gone", "value.a"):
        with pytest.raises(UnreadableProofError):
            found.items(path)


def test_the_body_by_its_hashes() -> None:
    """The check value of CRC-32, and the hash of the same nine bytes."""
    found = evidence(b"123456789")
    hashed = b"15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"
    assert (found.body_sha256, found.body_crc32) == (hashed, b"3421780262")


TIMES: Mapping[str, dict[str, int | None]] = {
    "seconds": {f"{NOW}": NOW_MS, "0": 0, "+1": None, "1.5": None, "1" * 13: None, "": None},
    "milliseconds": {f"{NOW_MS}": NOW_MS, "-1": None, "1" * 16: None, "\u0661": None},
    "iso8601": {
        "2024-01-15T09:50:00Z": NOW_MS,
        "2024-01-15t09:50:00.000z": NOW_MS,
        "2024-01-15 10:50:00+01:00": NOW_MS,
        "2024-01-15T08:20:00-0130": NOW_MS,
        "2024-01-15T09:50:00.123456789Z": NOW_MS + 123,
        "2024-01-15T09:50:00": None,
        "2024-13-15T09:50:00Z": None,
        "2024-01-15": None,
        "2024-W03-1T09:50:00Z": None,
    },
    "http_date": {
        "Mon, 15 Jan 2024 09:50:00 GMT": NOW_MS,
        "Mon, 15 Jan 2024 09:50:00 +0000": None,
        "15 Jan 2024 09:50:00 GMT": None,
        "Mon, 99 Jan 2024 09:50:00 GMT": None,
        "Mon, 15 Jan 2024 09:50:99 GMT": None,
    },
    "utc_date": {
        "Mon 15 Jan 2024 09:50:00 UTC": NOW_MS,
        "Mon, 15 Jan 2024 09:50:00 GMT": None,
        "Mon 15 Jan 2024 10:50:00 CET": None,
        "Mon 99 Jan 2024 09:50:00 UTC": None,
    },
}


@pytest.mark.parametrize(
    ("time", "text", "expected"),
    [(time, text, ms) for time, rows in TIMES.items() for text, ms in rows.items()],
)
def test_times_are_read_strictly(time: str, text: str, expected: int | None) -> None:
    assert READERS[time](text.encode()) == expected
