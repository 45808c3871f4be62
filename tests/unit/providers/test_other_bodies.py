"""Forms with files and XML: read with bounded work, and nothing of them is followed or kept."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.providers import Provider, Reading
from router.providers.multipart_form import HEAD_LINE_BYTES, PARTS_MAX
from router.providers.xml_body import BODY_MAX, TAGS_MAX
from tests.unit.providers.makers import a_definition, a_request

FORM = Provider(a_definition(read="multipart", event={"field": "event"}))
XML = Provider(a_definition(read="xml", event={"field": "order.state"}))
TYPE = "multipart/form-data; boundary=xx"


def form(*parts: bytes, end: bytes = b"--xx--\r\n") -> bytes:
    return b"".join(b"--xx\r\n" + part + b"\r\n" for part in parts) + end


def part(name: str, value: bytes, more: str = "") -> bytes:
    return f'Content-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value


def read(provider: Provider, body: bytes, kind: str) -> Reading:
    return provider.read(a_request([("Content-Type", kind)], body))


def payload(provider: Provider, body: bytes, kind: str = TYPE) -> Any:
    found = read(provider, body, kind)
    assert found.state == "routed", found.reason
    return found.events[0].payload


def odd(provider: Provider, body: bytes, kind: str = TYPE) -> tuple[str, str]:
    found = read(provider, body, kind)
    assert found.events == ()
    return found.state, found.reason or ""


# -- forms with files -----------------------------------------------------------------------------


def test_fields_and_files_by_name() -> None:
    file = '; filename="aä.png"\r\nContent-Type: image/png'
    body = form(
        part("event", b"opened"),
        part("to", b"a"),
        part("to", "bä\r\n".encode()),
        part("doc", b"\x89PNG\xff\x00secret", file),
    )
    assert payload(FORM, body) == {
        "event": "opened",
        "to": ["a", "bä\r\n"],
        "doc": {"filename": "aä.png", "content_type": "image/png", "size": 12},
    }
    assert read(FORM, body, TYPE).events[0].name == "opened"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (form(part("a", b"1")), "multipart/form-data", "Empty boundary"),
        (form(part("a", b"1")), "multipart/form-data; boundary=yy", "broken"),
        (form(part("a", b"1"), end=b""), TYPE, "broken"),
        (form(part("a", b"\xff")), TYPE, "not UTF-8"),
        (form(b"X: y\r\n\r\n1"), TYPE, "broken"),
        (b"", TYPE, "broken"),
        (b"{}", "application/json", "broken"),
    ],
)
def test_a_form_that_is_broken_is_unparsed(body: bytes, kind: str, words: str) -> None:
    state, reason = odd(FORM, body, kind)
    assert state == "unparsed"
    assert words in reason


def test_a_form_has_a_hundred_parts_and_small_heads() -> None:
    parts = [part(f"f{number}", b"1") for number in range(PARTS_MAX + 1)]
    assert len(payload(FORM, form(*parts[:-1]))) == PARTS_MAX
    assert odd(FORM, form(*parts))[0] == "too_complex"
    long = "; x=" + "a" * HEAD_LINE_BYTES
    assert odd(FORM, form(part("a", b"1", long)))[0] == "too_complex"
    assert odd(FORM, form(part("a", b"1", "\r\nX: y" * 9)))[0] == "too_complex"


def test_a_form_that_is_sent_is_read_as_it_was() -> None:
    sent = {
        "event": "aä",
        "to": ["a", "b"],
        "file": {"filename": "a b.txt", "content_type": "text/plain", "size": 70},
    }
    kind = dict(FORM.unsigned("any", "1"))["Content-Type"]
    assert payload(FORM, FORM.body([sent]), kind) == sent


# -- XML ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("<a/>", {"a": ""}),
        ("<a> b\n</a>", {"a": " b\n"}),
        ("<a><b>1</b>\n <b>2</b><c/></a>", {"a": {"b": ["1", "2"], "c": ""}}),
        ('<a id="1">t</a>', {"a": {"@id": "1", "#text": "t"}}),
        ('<s:a xmlns:s="urn:s" xmlns="x" s:id="1"><s:b/></s:a>', {"a": {"@id": "1", "b": ""}}),
        ("<a>x<b/>y</a>", {"a": {"b": "", "#text": "xy"}}),
        ("<a>&lt;&amp;&#228;<![CDATA[<b>]]></a>", {"a": "<&ä<b>"}),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a>ä</a>', {"a": "ä"}),
        ("<!-- c --><?pi x?><a/>", {"a": ""}),
    ],
)
def test_elements_by_name(body: str, found: object) -> None:
    raw = body.encode("latin-1" if "ISO" in body else "utf-8")
    assert payload(XML, raw, "application/xml") == found


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "DTD"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "DTD"),
        (b'<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a/>', "DTD"),
        (b"<a>&x;</a>", "undefined entity"),
        (b"<a><b></a>", "mismatched"),
        (b"", "no element"),
        (b"{}", "not well-formed"),
        (b"<a>\xff</a>", "not well-formed"),
        (b'<?xml version="1.0" encoding="rot13"?><a/>', "not XML"),
        (b"<a/><b/>", "junk"),
    ],
)
def test_what_is_no_plain_xml_is_unparsed(body: bytes, words: str) -> None:
    state, reason = odd(XML, body, "application/xml")
    assert state == "unparsed"
    assert words in reason


@pytest.mark.parametrize(
    "body",
    [
        b"<a>" * 65 + b"</a>" * 65,
        b"<a>" + b"<b/>" * TAGS_MAX + b"</a>",
        b"<a " + b" ".join(b"a%d=''" % n for n in range(TAGS_MAX + 1)) + b"/>",
        b"<a>" + b"x" * BODY_MAX + b"</a>",
    ],
)
def test_the_work_for_xml_is_bounded(body: bytes) -> None:
    assert odd(XML, body, "application/xml")[0] == "too_complex"


@pytest.mark.parametrize("piece", [b"\n", b"&amp;", b"<b/>", b"<b>x</b>", b"<!---->", b"\xc3\xa4"])
def test_the_largest_xml_takes_no_long_turn(piece: bytes) -> None:
    times = (BODY_MAX - 7) // len(piece)
    if tags := piece.count(b"<"):
        times = min(times, TAGS_MAX // tags - 2)
    body = b"<a>" + piece * times + b"</a>"
    began = time.process_time()
    assert read(XML, body, "application/xml").state == "routed"
    assert time.process_time() - began < 0.25


def test_xml_that_is_sent_is_read_as_it_was() -> None:
    sent = {"order": {"@id": '7"<', "item": ["a&", "b"], "state": "paid", "of": {"x": "1"}}}
    assert payload(XML, XML.body([sent]), "application/xml") == sent
    assert XML.read(a_request([], XML.body([sent]))).events[0].name == "paid"


# -- any bytes ------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    (
        *(b"--xx", b"\r\n", b"--", b'Content-Disposition: form-data; name="a"', b"<a", b">"),
        *(b"</a>", b"&#0;", b"<!", b"<?xml ", b'encoding="utf-16"', b"]]>", b"\xff", b" ", b"="),
    )
)
BODIES = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join))


@given(body=BODIES, kind=st.sampled_from([TYPE, 'multipart/form-data; boundary="', "text/xml"]))
def test_any_bytes_have_a_reading(body: bytes, kind: str) -> None:
    both = Provider(a_definition(read=["xml", "multipart"]))
    found = read(both, body, kind)
    assert found.state == "routed" or (found.events == () and found.reason)
