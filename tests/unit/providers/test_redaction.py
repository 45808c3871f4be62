"""What is taken out of a request, and that every other byte of it stays."""

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.expressions import compile as expression
from router.expressions.field_paths import FieldPath, field_path
from router.model.delivery import REDACTED_VALUE, InboundRequest
from router.providers import Definition, Provider
from router.providers.redaction import RedactedRequest, spans
from tests.unit.providers.makers import a_definition, a_provider, a_request

GENERIC = a_provider("hmac")
MAIL = a_provider("sendgrid")


def paths(*texts: str) -> list[FieldPath]:
    found = [field_path(expression(text).tree) for text in texts]
    return [path for path in found if path is not None]


def redacted(
    provider: Provider,
    body: bytes,
    *fields: str,
    kind: str = "application/json",
    query: bytes = b"",
    method: str = "POST",
) -> RedactedRequest:
    headers = ((b"content-type", kind.encode()), (b"x-user", b"anna"), (b"x-odd", b"\xe4"))
    request = InboundRequest(method, b"/wh_x", query, headers, body, "", 0)
    return provider.redacted(request, paths(*fields))


def test_the_value_is_replaced_and_every_other_byte_stays() -> None:
    body = b'{ "a" : {"mail":  "anna@x.de", "n" : 1.50e2},\n "mail":"b\\u00fc@x.de" , "z":[ ] }'
    left = redacted(GENERIC, body, "payload.a.mail")
    assert left.request.body == body.replace(b'"anna@x.de"', b'"[redacted]"')
    assert left.values == {"anna@x.de"}
    assert left.request.headers[1] == (b"x-user", b"anna")


def test_objects_and_lists_go_whole_and_their_values_are_known() -> None:
    body = '{"who": {"name": "Ünal", "ids": [12345678901234567890, true, null]}, "x": 1}'
    left = redacted(GENERIC, body.encode(), "payload.who")
    assert left.request.body == b'{"who": "[redacted]", "x": 1}'
    assert left.values == {"Ünal", "12345678901234567890"}


def test_of_a_name_that_is_there_twice_both_values_go() -> None:
    left = redacted(GENERIC, b'{"a": "one1", "a": "two2"}', "payload.a")
    assert left.request.body == b'{"a": "[redacted]", "a": "[redacted]"}'
    assert left.values == {"one1", "two2"}


def test_elements_of_lists_and_of_lists_within_lists() -> None:
    body = b'{"l": [{"m": 1}, [{"m": 2}], "m", {"o": 3}]}'
    left = redacted(GENERIC, body, "payload.l[].m").request.body
    assert left == b'{"l": [{"m": "[redacted]"}, [{"m": "[redacted]"}], "m", {"o": 3}]}'
    assert redacted(GENERIC, body, "payload.l[3].o").request.body == body.replace(
        b"3", b'"%b"' % REDACTED_VALUE.encode()
    )


def test_what_is_not_there_changes_nothing() -> None:
    body = b'{"a": {"b": [1, "c"]}}'
    assert (
        redacted(GENERIC, body, "payload.x.y", "payload.a.b.c", "payload.a.b[7]").request.body
        == body
    )


def test_a_path_holds_for_each_event_of_a_batch() -> None:
    body = b'[{"email": "a@x.de", "k": 1}, {"email": "b@x.de"}]'
    left = redacted(MAIL, body, "payload.email")
    assert left.request.body == b'[{"email": "[redacted]", "k": 1}, {"email": "[redacted]"}]'
    assert redacted(MAIL, b'{"email": "a@x.de"}', "payload.email").values == {"a@x.de"}


def test_headers_and_query_fields() -> None:
    left = redacted(GENERIC, b"{}", 'headers."X-User"', "query.who", query=b"who=an%20na&b=2")
    assert dict(left.request.headers)[b"x-user"] == b"[redacted]"
    assert left.request.query_string == b"who=[redacted]&b=2"
    assert left.values == {"anna", "an na"}
    many = redacted(GENERIC, b"{}", "query.who", query=b"who=anna" + b"&b=2" * 200)
    assert many.values == {"anna"}


def test_a_field_of_a_form() -> None:
    body = b"name=%C3%9C+nal&mail=a%40x.de&mail=b&b"
    form = "application/x-www-form-urlencoded"
    left = redacted(GENERIC, body, "payload.mail", kind=form)
    assert left.request.body == b"name=%C3%9C+nal&mail=%5Bredacted%5D&mail=%5Bredacted%5D&b"
    assert left.values == {"a@x.de", "b"}


def test_json_within_a_form() -> None:
    body = b"a=1&payload=%7B%22mail%22%3A+%22a%40x.de%22%2C%22n%22%3A2%7D"
    form = "application/x-www-form-urlencoded"
    left = redacted(a_provider("github"), body, "payload.mail", kind=form)
    assert left.request.body.startswith(b"a=1&payload=")
    assert left.values == {"a@x.de"}
    assert b"a%40x" not in left.request.body
    assert b"%22n%22%3A2" in left.request.body


def reading(*kinds: str) -> Provider:
    definition: Definition = a_definition(read=list(kinds))
    return Provider(definition)


def test_a_body_that_nobody_can_take_apart_goes_whole() -> None:
    broken = redacted(GENERIC, b'{"mail": "a', "payload.mail")
    assert (broken.request.body, broken.whole) == (b"[redacted]", True)
    xml = redacted(reading("xml"), b"<a><b>anna</b><c>x</c></a>", "payload.a.b", kind="text/xml")
    assert (xml.values, xml.whole, xml.read) == ({"anna"}, True, None)
    assert xml.request.body == b"[redacted]"
    text = redacted(GENERIC, b"anna", "payload", kind="text/plain")
    assert (text.request.body, text.values) == (b"[redacted]", {"anna"})
    kept = redacted(GENERIC, b'{"mail": "a', 'headers."x-user"')
    assert (kept.request.body, kept.whole) == (b'{"mail": "a', False)


ANY = reading("json", "form", "multipart", "xml", "text")
VALUE, MARK = "VALUE-4242", "[redacted]"
NAMED = b'Content-Disposition: form-data; name="a"'
JSON_TYPE, FORM, PARTS = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=XX",
)


def multipart(*parts: tuple[bytes, bytes]) -> bytes:
    return b"".join(b"--XX\r\n%b\r\n\r\n%b\r\n" % part for part in parts) + b"--XX--\r\n"


def in_part(*heads: bytes, value: bytes = VALUE.encode()) -> bytes:
    return multipart(
        (b"\r\n".join(heads), value), (b'Content-Disposition: form-data; name="o"', b"x")
    )


DISPOSITION = b"Content-Disposition: form-data; "
IN_PLACE = [  # everything but the value stays, byte for byte
    (PARTS, in_part(DISPOSITION + b"name=a")),
    (PARTS, in_part(DISPOSITION + b'NAME="a"')),
    (PARTS, in_part(DISPOSITION + b'name="x"; name="a"')),
    (PARTS, in_part(b"Content-Disposition: form-data;\r\n name=a")),
    (PARTS, in_part(b'Content-Type: text/plain; name="mail.txt"', NAMED)),
    (PARTS, in_part(b'X-Y: ; name="zz"', b'content-disposition: FORM-DATA;name="a"')),
    (PARTS, in_part(NAMED, value=b"--XX " + VALUE.encode())),
    (PARTS, in_part(NAMED, value=b"b\r\n\r\n" + VALUE.encode())),
    (PARTS, b'a preamble, name="a"\r\n' + in_part(NAMED) + b"and an end"),
    ("multipart/form-data; boundary=YY; boundary=XX", in_part(NAMED)),
    ("multipart/form-data; xboundary=YY; boundary=XX", in_part(NAMED)),
    ("multipart/form-data; Boundary = XX ", in_part(NAMED)),
    (FORM, b"%61=VALUE%2D4242&o=%zx".replace(b"%zx", b"%20")),
    (FORM, b"o=1&&a=VALUE-4242&c+c=%C3%9C"),
    (JSON_TYPE, b'{"\\u0061": "VALUE\\u002d4242", "o" :1.50e2}'),
    (JSON_TYPE, b' {"o":["a"],"a":"VALUE-4242","a":"VALUE-4242"} '),
]
WHOLE = [
    (PARTS, in_part(NAMED)[:-6]),  # no end
    (PARTS, in_part(NAMED).replace(b"\r\n", b"\n")),
    (PARTS, in_part(NAMED, value=b"b\r\n--XX" + VALUE.encode())),  # a boundary in the value
    (PARTS, in_part(NAMED, value=b"\xff" + VALUE.encode())),
    ("multipart/form-data", in_part(NAMED)),
    (PARTS, in_part(DISPOSITION + b"name*=utf-8''a")),
    (PARTS, in_part(DISPOSITION + b'\tname="a"')),
    (PARTS, in_part(b"Content-Type: multipart/mixed; boundary=YY", DISPOSITION + b"a")),
    (JSON_TYPE, b"\xef\xbb\xbf" + b'{"a": "VALUE-4242"}'),
    (JSON_TYPE, '{"a": "VALUE-4242"}'.encode("utf-16")),
    (JSON_TYPE, b'{"a": "VALUE-4242", "b": NaN}'),
    (FORM, b"a=VALUE-4242%z"),
    (FORM, b"a=VALUE-4242%ff"),
    ("text/xml", b"<r><a>VALUE-4242</a></r>"),
    ("text/xml", b'<a x="VALUE-4242"><![CDATA[VALUE-4242]]></a>'),
    ("text/xml", b"<a>&#86;ALUE-4242</a>"),
    ("text/xml", b"<!DOCTYPE a [<!ENTITY e 'VALUE-4242'>]><a>&e;</a>"),
    ("text/xml; charset=utf-16", "<a>VALUE-4242</a>".encode("utf-16")),
    ("text/plain", b"a=VALUE-4242"),
]


@pytest.mark.parametrize(("kind", "body"), IN_PLACE)
def test_only_the_value_goes_where_its_reader_finds_it(kind: str, body: bytes) -> None:
    left = redacted(ANY, body, "payload.a", kind=kind)
    assert not left.whole
    mark = {FORM: b"%5Bredacted%5D", JSON_TYPE: b'"[redacted]"'}.get(kind, b"[redacted]")
    quote = rb'"' if kind == JSON_TYPE else b""
    spelled = rb"(b\r\n\r\n|--XX )?VALUE(-|%2D|\\u002d)4242"
    assert left.request.body == re.sub(quote + spelled + quote, mark, body)
    assert any(VALUE in value for value in left.values)


@pytest.mark.parametrize(("kind", "body"), WHOLE)
def test_a_body_that_its_reader_cannot_take_apart_goes_whole(kind: str, body: bytes) -> None:
    left = redacted(ANY, body, "payload.a", kind=kind)
    assert (left.request.body, left.whole) == (b"[redacted]", True)


@pytest.mark.parametrize("fields", [("payload.a",), ("payload.a", 'headers."x-odd"')])
def test_what_was_read_before_and_again_spares_two_readings(fields: tuple[str, ...]) -> None:
    named = Provider(a_definition(event={"header": "X-Odd"}, read=["json"]))
    request = InboundRequest(
        "POST", b"/", b"", ((b"x-odd", b"ann"),), b'{"a": "VALUE-4242"}', "", 0
    )
    first = named.read(request)
    left = named.redacted(request, paths(*fields), first)
    assert left == named.redacted(request, paths(*fields))
    assert left.read in (None, named.read(left.request))
    assert (left.read is None) is (len(fields) > 1), "other headers may be read otherwise"


def test_the_first_content_type_counts_as_it_does_for_the_reader() -> None:
    headers = ((b"content-type", PARTS.encode()), (b"content-type", b"application/json"))
    request = InboundRequest("POST", b"/", b"", headers, in_part(NAMED), "", 0)
    left = ANY.redacted(request, paths("payload.a"))
    assert (left.request.body, left.whole) == (in_part(NAMED, value=MARK.encode()), False)


def test_what_stands_in_the_query_of_a_get_goes_there() -> None:
    forms = reading("form")
    left = redacted(forms, b"", "payload.a", query=b"a=VALUE-4242&b=1", method="GET")
    assert left.request.query_string == b"a=%5Bredacted%5D&b=1"
    broken = redacted(forms, b"", "payload.a", query=b"a=VALUE-4242%z", method="GET")
    assert (broken.request.query_string, broken.whole) == (b"[redacted]", True)


def test_one_of_several_parts_and_what_is_told_of_a_file() -> None:
    file = DISPOSITION + b'name="cv"; filename="anna.pdf"\r\nContent-Type: x/y'
    body = multipart((NAMED, b"one1"), (file, b"%PDF\xff"), (NAMED, b"two2"))
    left = redacted(ANY, body, "payload.a[1]", "payload.cv.filename", kind=PARTS)
    assert not left.whole
    assert left.request.body == body.replace(b"two2", b"[redacted]").replace(
        b"anna.pdf", b"[redacted]"
    )
    assert left.values == {"two2", "anna.pdf"}
    every = redacted(ANY, body, "payload", kind=PARTS)
    assert (every.request.body, every.whole) == (b"[redacted]", True)
    bare = body.replace(b"\r\nContent-Type: x/y", b"")  # as .NET and requests send files
    left = redacted(ANY, bare, "payload.cv.filename", kind=PARTS)
    assert left.request.body == bare.replace(b"anna.pdf", b"[redacted]")
    size = redacted(ANY, body, "payload.cv.size", kind=PARTS)
    assert (size.request.body, size.whole) == (b"[redacted]", True), "no part says it"
    gone = redacted(ANY, body, "payload.cv", kind=PARTS).request.body
    assert gone == multipart(
        (NAMED, b"one1"), (DISPOSITION + b'name="cv"', b"[redacted]"), (NAMED, b"two2")
    )


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters='"<&\r\n\0'), max_size=6)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, bytes, str]:
    """A content type, a body with the value somewhere in a field or an element, and a path."""
    name = draw(st.sampled_from(["a", "b", "ü", "a b"]))
    value = (
        draw(TEXTS) + VALUE + draw(TEXTS | st.sampled_from(["\r\n--XX", "--XX--", "]]>", "&o=1"]))
    )
    others = draw(st.lists(st.tuples(st.sampled_from(["o", "a", "p"]), TEXTS), max_size=3))
    fields = [(n, v) for n, v in others if n != name]
    fields.insert(draw(st.integers(0, len(fields))), (name, value))
    path = f'payload."{name}"'
    match draw(st.sampled_from(["multipart", "form", "xml", "json"])):
        case "multipart":
            spelled = draw(
                st.sampled_from(
                    [
                        'name="{}"',
                        "NAME={}" if name == "a" else 'NAME="{}"',
                        'x=1; name="{}"',
                        'name="o"; name="{}"',
                    ]
                )
            )
            head = draw(
                st.sampled_from(["", 'Content-Type: text/plain; name="o"\r\n', "X: name=a\r\n"])
            )
            heads = [
                f"{head}Content-Disposition: form-data; {spelled.format(n)}" for n, _ in fields
            ]
            pairs = [(h.encode(), v.encode()) for h, (_, v) in zip(heads, fields, strict=True)]
            return PARTS, multipart(*pairs), path
        case "form":
            return FORM, urlencode(fields).encode(), path
        case "json":
            members = ",".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in fields)
            return JSON_TYPE, f"{{{members}}}".encode(), path
    tag = name.replace(" ", "_")
    inner = "".join(f"<{n}>{v}</{n}>" for n, v in others)
    return (
        "text/xml",
        f"<r><{tag} k='{value}'>{value}</{tag}>{inner}</r>".encode(),
        f'payload.r."{tag}"',
    )


@given(bodies())
def test_no_value_is_left_anywhere_and_all_others_are(given: tuple[str, bytes, str]) -> None:
    kind, body, path = given
    before = [e.payload for e in ANY.read(a_request([("Content-Type", kind)], body)).events]
    left = redacted(ANY, body, path, kind=kind)
    assert VALUE.encode() not in left.request.body
    after = [
        e.payload for e in ANY.read(a_request([("Content-Type", kind)], left.request.body)).events
    ]
    at = paths(path)[0][1:]
    assert left.whole or after == [_marked(payload, at) for payload in before]
    assert not before or any(VALUE in value for value in left.values)


NAMES = st.sampled_from(["a", "b", "ü", 'q"'])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def _marked(value: Any, path: FieldPath) -> Any:
    """The same of decoded values."""
    if not path:
        return REDACTED_VALUE
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: _marked(one, rest) if key == step else one for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one, rest) if i == step else one for i, one in enumerate(value)]
    return value


@given(JSON, st.lists(NAMES | st.integers(0, 2), max_size=3), st.sampled_from([None, 2]))
def test_spans_are_those_of_the_values_at_the_path(
    value: Any, path: list[str | int], indent: int | None
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=indent is None)
    for start, end in reversed(spans(text, [tuple(path)])):
        text = f'{text[:start]}"{REDACTED_VALUE}"{text[end:]}'
    assert json.loads(text) == _marked(value, tuple(path))
