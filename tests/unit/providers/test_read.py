"""Readings: names, ids, fields, batches, forms, and what has no events."""

import time
from decimal import Decimal
from urllib.parse import quote_plus

import pytest

from router.providers import Provider, ReadEvent, Reading
from router.structure import MeasuredBody, weigh
from tests.unit.providers.makers import a_definition, a_provider, a_request

HUB, SHOP, MAIL = a_provider("github"), a_provider("shopify"), a_provider("sendgrid")


def hub(body: bytes, *headers: tuple[str, str]) -> Reading:
    return HUB.read(
        a_request([("X-GitHub-Event", "push"), ("X-GitHub-Delivery", "d1"), *headers], body)
    )


def mail(body: bytes) -> Reading:
    return MAIL.read(a_request([], body))


def only(reading: Reading) -> ReadEvent:
    assert reading.state == "routed"
    assert len(reading.events) == 1
    return reading.events[0]


def test_a_push() -> None:
    event = only(hub(b'{"ref":"refs/heads/feat/x","repository":{"full_name":"o/r"},"n":1.50}'))
    assert (event.name, event.action, event.provider_id, event.raw) == ("push", None, b"d1", None)
    assert event.fields == {"branch": "feat/x", "repository": "o/r"}
    assert event.payload["n"] == Decimal("1.50")


def test_a_tag_is_no_branch() -> None:
    assert only(hub(b'{"ref":"refs/tags/v1"}')).fields == {"tag": "v1"}


def batch(provider: Provider, body: bytes, *headers: tuple[str, str]) -> list[tuple[object, ...]]:
    found = provider.read(a_request(headers, body))
    assert found.state == "routed"
    return [(event.name, event.payload, event.raw) for event in found.events]


def test_a_batch_that_stands_within_the_body() -> None:
    keys = {"event": {"field": "type"}, "split": 2, "split_at": "data.value"}
    graph = Provider(a_definition(**keys))
    body = b'{"data":{"n":1,"value":[{"type":"a", "n":1.0},{"type":"b"}]}} '
    a, b = b'{"type":"a", "n":1.0}', b'{"type":"b"}'
    assert [(name, raw) for name, _, raw in batch(graph, body)] == [("a", a), ("b", b)]
    assert batch(graph, b'{"data":{"value":[]}}') == []
    for other in (b'{"type":"a"}', b'{"data":{"value":{}}}', b'[{"type":"a"}]', b"[]"):
        assert [raw for _, _, raw in batch(graph, other + b"\n")] == [other]
    long = graph.read(a_request([], b'{"data":{"value":[1,2,3]}}'))
    assert (long.state, long.reason) == ("too_complex", "over 2 events")
    assert graph.body([{"type": "a"}, 1]) == b'{"data":{"value":[{"type":"a"},1]}}'


def test_a_batch_in_a_field_of_a_form() -> None:
    keys = {"read": "form", "form_field": "events", "split": 9, "event": {"field": "event"}}
    mandrill = Provider(a_definition(**keys))
    form = ("Content-Type", "application/x-www-form-urlencoded")
    sent = mandrill.body([{"event": "open"}, {"event": "click"}])
    assert sent == b"events=%5B%7B%22event%22%3A%22open%22%7D%2C%7B%22event%22%3A%22click%22%7D%5D"
    assert batch(mandrill, sent, form) == [
        ("open", {"event": "open"}, b'{"event":"open"}'),
        ("click", {"event": "click"}, b'{"event":"click"}'),
    ]
    assert batch(mandrill, b"other=1", form) == [("unknown", {"other": "1"}, None)]


@pytest.mark.parametrize(
    "body", [b"{}", b'{"ref":5,"repository":"x"}', b"[]", b"null", b'"x"', b"7"]
)
def test_fields_that_are_not_there_are_not_there(body: bytes) -> None:
    assert only(hub(body)).fields == {}


@pytest.mark.parametrize(
    ("body", "action"), [(b'{"action":"opened"}', "opened"), (b'{"action":5}', None), (b"{}", None)]
)
def test_the_action_is_a_text_of_the_payload(body: bytes, action: str | None) -> None:
    assert only(hub(body)).action == action


def test_a_shop_event_knows_its_topic_shop_and_version() -> None:
    headers = [
        ("X-Commerce-Topic", "orders/paid"),
        ("X-Shopify-Shop-Domain", "a.test"),
        ("X-Commerce-API-Version", "2024-01"),
        ("X-Commerce-Webhook-Id", "w1"),
    ]
    reading = SHOP.read(a_request(headers, b'{"id":1}'))
    fields = {"topic": "orders/paid", "shop": "a.test", "api_version": "2024-01"}
    assert only(reading).fields == fields
    assert (reading.event_name, reading.delivery_id, reading.flags) == ("orders/paid", b"w1", ())
    assert only(reading).action is None


@pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b", "a\x1bb", "\x85"])
def test_names_unfit_for_logs_are_unknown(name: str) -> None:
    reading = SHOP.read(a_request([("X-Shopify-Topic", name), ("X-Shopify-Webhook-Id", "1")]))
    assert (only(reading).name, reading.event_name) == ("unknown", "unknown")


def test_without_event_or_id_header() -> None:
    reading = HUB.read(a_request([], b"{}"))
    assert (only(reading).name, only(reading).provider_id) == ("unknown", None)
    assert reading.flags == ("no_id",)
    assert HUB.read(a_request([("X-GitHub-Delivery", "")], b"{}")).flags == ("no_id",)


def test_ids_are_bytes_as_they_came() -> None:
    request = a_request([("X-GitHub-Delivery", "\xff\xe9")], b"{}")
    assert only(HUB.read(request)).provider_id == b"\xff\xe9"
    assert HUB.read(request).delivery_id == b"\xff\xe9"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a":1,}',
        b"{'a':1}",
        b"{} x",
        b"[01]",
        b'"\t"',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'"\xff"',
        b'"\xc0\xaf"',
        b'"\xe2\x82"',
        b'"\\ud800"',
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b"9" * 5000,
        b"<a/>",
        b"payload=%7B%7D",
    ],
)
def test_bodies_that_are_no_json(body: bytes) -> None:
    for provider in (HUB, SHOP, MAIL):
        reading = provider.read(
            a_request([("X-GitHub-Event", "push"), ("X-Shopify-Topic", "t")], body)
        )
        assert (reading.state, reading.events) == ("unparsed", ())
        assert reading.reason
    assert hub(body).event_name == "push"
    assert hub(body).delivery_id == b"d1"
    assert hub(body).flags == ()
    assert HUB.read(a_request([], body)).flags == ("no_id",)


def test_odd_json_is_json() -> None:
    assert only(hub(b'"\\u0000"')).payload == "\x00"
    assert only(hub(b'{"a":1,"a":2}')).payload == {"a": 2}
    assert only(hub(b"12345678901234567890123")).payload == 12345678901234567890123
    assert only(hub(b' {"__proto__":{"":1}} ')).payload == {"__proto__": {"": 1}}


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (b"[" * 64 + b"]" * 64, "routed"),
        (b"[" * 65 + b"]" * 65, "too_complex"),
        (b"[" * 100_000, "too_complex"),
        (b"[" * 5_000_000, "too_complex"),
        (b"[" + b"0," * 500_000 + b"0]", "too_complex"),
        (b'["' + b"," * 400_000 + b'"]', "routed"),
    ],
)
def test_too_complex_bodies(body: bytes, state: str) -> None:
    assert hub(body).state == state


@pytest.mark.long
def test_the_largest_bodies_are_counted_quickly() -> None:
    size = HUB.body_max
    for body in (b"[" * size, b"," * size, b'"]' * (size // 2), b"[" * 70 + b"]" * size):
        began = time.thread_time()
        assert hub(body).events == ()
        # Ten times what it takes here: only a change of kind fails on a slow machine.
        assert time.thread_time() - began < 2.0


def test_a_batch_has_exact_slices() -> None:
    body = b'[ {"event":"open", "sg_event_id":"a\\u00e9", "n":1.0} ,\n{"event":"click"}, 5 ]'
    reading = mail(body)
    assert [e.name for e in reading.events] == ["open", "click", "unknown"]
    assert [e.index for e in reading.events] == [0, 1, 2]
    assert [e.provider_id for e in reading.events] == ["aé".encode(), None, None]
    assert reading.events[0].raw == b'{"event":"open", "sg_event_id":"a\\u00e9", "n":1.0}'
    assert reading.events[2].raw == b"5"
    assert (reading.flags, reading.event_name, reading.delivery_id) == (("no_id",), "unknown", None)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b"[]", []),
        (b' {"event":"open"}\n', ["open"]),
        (b"5", ["unknown"]),
        (b"null", ["unknown"]),
        (b'[null,"x",[{"event":"open"}]]', ["unknown"] * 3),
        (b'[{"event":5},{"event":""},{"event":null},{}]', ["unknown"] * 4),
        (b'[{"event":"a\\u0000b"}]', ["unknown"]),
    ],
)
def test_batches_of_all_kinds(body: bytes, names: list[str]) -> None:
    reading = mail(body)
    assert (reading.state, [e.name for e in reading.events]) == ("routed", names)


def test_a_lone_object_is_a_batch_of_one() -> None:
    assert only(mail(b' {"event":"open"}\n')).raw == b'{"event":"open"}'


def test_ids_are_texts_or_whole_numbers() -> None:
    odd = (b'""', b"null", b'["a"]', b"true", b"1.5")
    body = b"[%b]" % b",".join(b'{"sg_event_id":%b}' % value for value in (b"5", b'"x"', *odd))
    assert [e.provider_id for e in mail(body).events] == [b"5", b"x", *[None] * len(odd)]


def test_one_broken_event_makes_the_whole_batch_unparsed() -> None:
    assert mail(b'[{"event":"open"},{"event":}]').state == "unparsed"
    assert mail(b'[{"event":"open"},{"event":"\xff"}]').state == "unparsed"
    assert mail(b'[{"event":"open"},{"event":"\\ud800"}]').state == "unparsed"


def test_a_batch_holds_a_thousand_events() -> None:
    assert len(mail(b"[" + b",".join([b"{}"] * 1000) + b"]").events) == 1000
    over = mail(b"[" + b",".join([b"{}"] * 1001) + b"]")
    assert (over.state, over.reason) == ("too_complex", "over 1,000 events")


FORM = ("Content-Type", "application/x-www-form-urlencoded")


def test_a_form_is_read_from_its_payload_field() -> None:
    text = '{"ref":"refs/heads/a b","x":"é+&="}'
    event = only(hub(f"payload={quote_plus(text)}".encode(), FORM))
    assert event.payload == {"ref": "refs/heads/a b", "x": "é+&="}
    assert event.raw == text.encode()
    assert event.fields == {"branch": "a b"}


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (b"a=1", "unparsed"),
        (b"payload=", "unparsed"),
        (b"payload=%7", "unparsed"),
        (b"payload=1&payload=1", "unparsed"),
        (b"a=1&" * 10_000, "too_complex"),
        (b"payload=" + b"%5B" * 65, "too_complex"),
        (b"payload=%FF", "unparsed"),
        (b"payload=%22x%22", "routed"),
    ],
)
def test_forms_of_all_kinds(body: bytes, state: str) -> None:
    assert hub(body, FORM).state == state


def test_forms_are_for_those_who_send_them() -> None:
    assert SHOP.read(a_request([FORM], b"payload=1")).state == "unparsed"


def test_a_definition_may_take_everything_from_the_body() -> None:
    acme = Provider(
        a_definition(
            event={"field": "type"},
            id={"field": "meta.id"},
            fields={"kind": {"field": "type", "prefix": "x."}},
        )
    )
    reading = acme.read(a_request([], b'{"type":"x.y","meta":{"id":"7"}}'))
    event = only(reading)
    assert (event.name, event.provider_id, event.fields) == ("x.y", b"7", {"kind": "y"})
    assert reading.delivery_id is None
    assert reading.flags == ()


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"type":"a","to":[{"mail":"m"},{"mail":"n"}]}', {"first": "m", "third": "n"}),
        (b'{"type":"a","to":{"0":{"mail":"m"}}}', {"first": "m"}),
        (b'{"type":"a","to":[]}', {}),
        (b'{"type":"a","to":["m"]}', {}),
    ],
)
def test_a_number_steps_into_a_list(body: bytes, names: dict[str, str]) -> None:
    fields = {"first": {"field": "to.0.mail"}, "third": {"field": ["to.2.mail", "to.1.mail"]}}
    acme = Provider(a_definition(event={"field": "type"}, fields=fields))
    assert only(acme.read(a_request([], body))).fields == names


def test_values_are_called_by_other_names() -> None:
    """Numbers too, and keys; what has no other name stays."""
    kinds = {"MessageSid": "message", "CallSid": "call"}
    acme = Provider(
        a_definition(
            event={"key": list(kinds), "named": kinds},
            action={"field": "type", "named": {"2": "command"}},
        )
    )
    for body, name, action in [
        (b'{"CallSid":"x","type":2}', "call", "command"),
        (b'{"MessageSid":"x","type":3}', "message", "3"),
        (b'{"type":"2"}', "unknown", "command"),
        (b'{"CallSid":"x","type":true}', "call", None),
    ]:
        event = only(acme.read(a_request([], body)))
        assert (event.name, event.action) == (name, action)


def test_an_id_may_be_of_several_fields() -> None:
    number = {"field": ["event", "at", "by"], "all": True}
    acme = Provider(a_definition(id=number, event={"field": "e"}))
    for body, found in [
        (b'{"event":7,"at":12,"by":"a"}', b"7 12 a"),
        (b'{"event":7,"by":"a"}', None),
        (b'{"event":7,"at":1.5,"by":"a"}', None),
        (b'{"e":"made"}', None),
    ]:
        assert only(acme.read(a_request([], body))).provider_id == found


def test_who_numbers_nothing_lacks_no_number() -> None:
    acme = Provider(a_definition(id={"body": True}, event={"field": "e"}))
    assert (acme.has_ids, acme.sends_ids) == (True, False)
    reading = acme.read(a_request([], b'{"e":"made"}'))
    assert (only(reading).provider_id, reading.flags) == (None, ())


def test_a_provider_without_ids_has_no_flag() -> None:
    acme = Provider(a_definition())
    assert not acme.has_ids
    assert acme.read(a_request([("X-Acme-Event", "e")])).flags == ()
    assert acme.read(a_request([("X-Acme-Event", "e")], b"{")).flags == ()


def test_what_was_counted_counts_for_that_body_alone() -> None:
    """Another body, though it be equal, is counted anew."""
    deep = b"[" * 65 + b"]" * 65
    assert HUB.read(a_request([], deep), MeasuredBody(deep, None)).state == "routed"
    other = bytes(bytearray(deep))
    assert HUB.read(a_request([], deep), MeasuredBody(other, None)).state == "too_complex"
    assert HUB.read(a_request([], b"{}"), weigh(deep)).state == "routed"
