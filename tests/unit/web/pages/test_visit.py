"""What a browser sends: cookies, forms, and from where."""

import pytest

from router.web.admin.problems import Rejected
from router.web.pages.guard import _is_own, check_site, local, session_cookie
from router.web.pages.request import FORM_FIELDS, FORM_TYPE, cookie, parse_form

TYPE = (b"content-type", FORM_TYPE.encode())
HOST = "ops.lan:8001"


def sent(body: bytes, *headers: tuple[bytes, bytes]) -> dict[str, str]:
    return parse_form(headers or (TYPE,), body)


def refused(body: bytes, *headers: tuple[bytes, bytes]) -> tuple[int, str]:
    with pytest.raises(Rejected) as caught:
        sent(body, *headers)
    return caught.value.status, str(caught.value)


def test_a_form_is_read() -> None:
    assert sent(b"a=1&b=&c=%C3%A4+%2B") == {"a": "1", "b": "", "c": "ä +"}
    assert sent(b"") == {}
    for kind in (b"Application/X-WWW-Form-Urlencoded ; charset=utf-8", FORM_TYPE.encode()):
        assert sent(b"a=1", (b"content-type", kind)) == {"a": "1"}


@pytest.mark.parametrize("kind", [b"application/json", b"text/plain", b"", b"multipart/form-data"])
def test_what_is_no_form_is_refused(kind: bytes) -> None:
    """What a page of another site can send without asking is refused here, too."""
    assert refused(b"a=1", (b"content-type", kind)) == (415, "send a form")
    assert refused(b"a=1", (b"x-other", b"1")) == (415, "send a form")


@pytest.mark.parametrize("body", [b"a=%FF", b"a=\xff", b"a=1&" * FORM_FIELDS + b"b=2"])
def test_a_malformed_form_is_refused(body: bytes) -> None:
    assert refused(body) == (400, "the form is malformed")


def test_the_bounds_of_a_form() -> None:
    fields = b"&".join(b"f%d=1" % number for number in range(FORM_FIELDS))
    assert len(sent(fields)) == FORM_FIELDS == 40


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ([b"sid=1"], "1"),
        ([b"a=2; sid=1; b=3"], "1"),
        ([b"a=2;sid= 1 ;b"], "1"),
        ([b"a=2", b"sid=1"], "1"),
        ([b"sid=1=2"], "1=2"),
        ([b"sid="], ""),
        ([b"sid=1; sid=2"], None),
        ([b"sid=1", b"sid=1"], None),
        ([b"xsid=1", b"sidx=1", b"SID=1"], None),
        ([], None),
    ],
)
def test_a_cookie_counts_when_it_is_sent_once(lines: list[bytes], value: str | None) -> None:
    assert cookie([(b"cookie", line) for line in lines], "sid") == value


@pytest.mark.parametrize("name", [b"x-cookie", b"authorization", b"cookie2"])
def test_no_other_header_is_a_cookie(name: bytes) -> None:
    assert cookie([(name, b"sid=1")], "sid") is None


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/", "/"),
        ("/rules?a=1#b", "/rules?a=1#b"),
        ("", "/"),
        ("rules", "/"),
        ("//evil.example", "/"),
        ("///evil.example", "/"),
        ("////evil.example/a", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\nb", "/"),
        ("/a\r\nset-cookie: x", "/"),
        ("/ä", "/"),
    ],
)
def test_only_a_path_of_ours_is_gone_on_to(path: str, to: str) -> None:
    assert local(path) == to


@pytest.mark.parametrize(
    ("origin", "scheme", "site", "own"),
    [
        ("http://ops.lan:8001", "http", None, True),
        ("https://ops.lan:8001", "https", None, True),
        ("https://ops.lan:8001", "http", "same-origin", True),
        ("https://ops.lan:8001", "http", "same-site", False),
        ("https://ops.lan:8001", "http", None, False),
        ("http://ops.lan:8001", "https", "same-origin", False),
        ("http://ops.lan", "http", "same-origin", False),
        ("null", "http", "same-origin", False),
        ("http://evil.example", "http", None, False),
    ],
)
def test_whose_page_a_form_is_of(origin: str, scheme: str, site: str | None, own: bool) -> None:
    assert _is_own(origin, scheme, HOST, site) is own


@pytest.mark.parametrize(
    ("method", "headers", "passes"),
    [
        ("POST", {}, True),
        ("POST", {"sec-fetch-site": "same-origin"}, True),
        ("GET", {"sec-fetch-site": "none"}, True),
        ("POST", {"origin": "http://ops.lan:8001", "sec-fetch-site": "same-origin"}, True),
        ("POST", {"origin": "HTTP://OPS.LAN:8001"}, True),
        ("POST", {"origin": "http://evil.example"}, False),
        ("GET", {"origin": "http://evil.example"}, False),
        ("POST", {"sec-fetch-site": "same-site"}, False),
        ("POST", {"sec-fetch-site": "cross-site"}, False),
        ("GET", {"sec-fetch-site": "cross-site"}, False),
    ],
)
def test_other_sites_are_turned_away(method: str, headers: dict[str, str], passes: bool) -> None:
    scope = {"method": method, "scheme": "http", "headers": _raw(headers)}
    if passes:
        check_site(scope, HOST)
        return
    with pytest.raises(Rejected) as caught:
        check_site(scope, HOST)
    assert caught.value.status == 403


LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    ("method", "changed", "passes"),
    [
        ("GET", {}, True),
        ("HEAD", {}, True),
        ("POST", {}, False),
        ("GET", {"sec-fetch-mode": "no-cors"}, False),
        ("GET", {"sec-fetch-dest": "iframe"}, False),
        ("GET", {"origin": "http://evil.example"}, False),
    ],
)
def test_a_link_to_us_may_be_followed(method: str, changed: dict[str, str], passes: bool) -> None:
    test_other_sites_are_turned_away(method, LINK | changed, passes)


@pytest.mark.parametrize(
    ("scheme", "origin", "secure"),
    [
        ("http", None, False),
        ("http", "http://ops.lan", False),
        ("https", None, True),
        ("http", "HTTPS://ops.lan", True),
    ],
)
def test_the_cookie_of_a_session(scheme: str, origin: str | None, secure: bool) -> None:
    scope = {"scheme": scheme, "headers": _raw({} if origin is None else {"origin": origin})}
    assert session_cookie("v", scope, 9).split("; ")[1:] == [
        *("Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=9"),
        *(["Secure"] if secure else []),
    ]


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
