"""Headers as they are kept, and as rules see them."""

from router.model.delivery import REMOVED
from router.model.headers import header_of, joined_headers, kept_headers


def test_repeats_are_joined_in_their_order_at_the_first_one_s_place() -> None:
    headers = (("a", "1"), ("b", "2"), ("a", ""), ("a", "3"))
    assert list(joined_headers(headers).items()) == [("a", "1, , 3"), ("b", "2")]
    assert list(joined_headers(headers[:2]).items()) == [("a", "1"), ("b", "2")]
    assert joined_headers(()) == {}


def test_one_header_is_read_as_all_of_them_are() -> None:
    headers = (("a", "1"), ("b", "2"), ("a", "3"))
    assert {name: header_of(headers, name) for name in "ab"} == joined_headers(headers)
    assert header_of(headers, "c") == ""


def test_headers_are_kept_as_text_without_credentials() -> None:
    """Whatever bytes they are; all that a proxy is told counts as such."""
    given = ((b"x-\xff", b"\x00\xe9"), (b"cookie", b"a=1"), (b"proxy-x", b"y"), (b"x-\xff", b""))
    kept = (("x-\xff", "\x00\xe9"), ("cookie", REMOVED), ("proxy-x", REMOVED), ("x-\xff", ""))
    assert kept_headers(given) == kept


def test_more_names_than_are_remembered_are_kept_as_they_are() -> None:
    """Also those of credentials, which come first, last and between the others."""
    names = [b"x-%d" % n for n in range(2_000)]
    given = tuple((n, b"1") for name in names for n in (b"cookie", name))
    for _ in range(2):
        kept = kept_headers((*given, (b"cookie", b"1")))
        assert {value for name, value in kept if name == "cookie"} == {REMOVED}
        assert [(n, v) for n, v in kept if n != "cookie"] == [(n.decode(), "1") for n in names]
