"""What is taken out of a request, and that every other byte of it stays."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from router.expressions import compile as expression
from router.expressions.field_paths import FieldPath, field_path
from router.model.delivery import REDACTED_VALUE, InboundRequest
from router.providers import Definition, Provider
from router.providers.json_spans import spans
from router.providers.multipart_form import written
from router.providers.redaction import RedactedRequest
from tests.unit.providers.makers import a_definition, a_provider

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
    **given: Any,
) -> RedactedRequest:
    headers = ((b"content-type", kind.encode()), (b"x-user", b"anna"), (b"x-odd", b"\xe4"))
    request = InboundRequest("POST", b"/wh_x", query, headers, body, "", 0)
    return provider.redacted(request, paths(*fields), **{"read": True, **given})


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


def test_a_part_of_a_form_with_files() -> None:
    body = written({"mail": "a@x.de", "n": "1", "scan": {"filename": "s.pdf", "size": 5}})
    kind = "multipart/form-data; boundary=" + body[2 : body.index(b"\r\n")].decode()
    left = redacted(reading("json", "multipart"), body, "payload.mail", kind=kind)
    assert left.request.body == body.replace(b"a@x.de", b"[redacted]")
    assert left.values == {"a@x.de"}
    every = redacted(reading("json", "multipart"), body, "payload", kind=kind).request.body
    assert every.count(b"[redacted]") == 3


def test_a_body_that_nobody_can_take_apart_goes_whole() -> None:
    assert (
        redacted(GENERIC, b'{"mail": "a', "payload.mail", read=False).request.body == b"[redacted]"
    )
    xml = redacted(reading("xml"), b"<a><b>anna</b><c>x</c></a>", "payload.a.b", kind="text/xml")
    assert (xml.request.body, xml.values) == (b"[redacted]", {"anna"})
    text = redacted(GENERIC, b"anna", "payload", kind="text/plain")
    assert (text.request.body, text.values) == (b"[redacted]", {"anna"})
    kept = redacted(GENERIC, b'{"mail": "a', 'headers."x-user"', read=False)
    assert kept.request.body == b'{"mail": "a'


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
