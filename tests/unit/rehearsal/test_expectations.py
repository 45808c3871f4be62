"""What a test may expect beyond equal values: matchers, answers, order, delays, used replies."""

import pytest

from tests.rehearsing import found, said

RULES = """\
version: 1
secrets: {shop: {env: A}, chat: {env: C}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
  told:
    id: 9c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54
    provider: shopify
    secrets: shop
    answer: {status: 202, type: text/plain, body: "thanks for {{ delivery.id }}"}
  chat: {id: 7c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: slack, secrets: chat}
rules:
  - id: paid
    from: [shop, told]
    events: orders/paid
    match: payload.name != 'held'
    actions:
      - id: erp
        http:
          url: "https://erp.example.net/{{ payload.name }}"
          headers: {x-tag: "a b"}
          json: {id: "{{ payload.id }}", skus: "{{ payload.line_items[].sku }}", contains: {any: 1}, lines: "{{ payload.line_items }}"}
        retry: {schedule: [5s, 2m], jitter: 0.5}
      - {id: desk, after: erp, when: results.erp.status == 201, shell: {argv: [tell, "--", "x"], stdin: none}}
      - {id: alarm, after: {erp: dead}, log: down}
tests:
  - name: t
    send: {%s}
    replies: {%s}
    expect: {%s}
"""  # noqa: E501 - as it is written
PAID = "endpoint: shop, event: orders/paid, set: {name: N, id: 7, 'line_items[0].sku': A-1}"


def lines(expect: str, send: str = PAID, replies: str = "") -> list[str]:
    return said(RULES % (send, replies, expect))


@pytest.mark.parametrize(
    "call",
    [
        "url: {contains: example.net}",
        "method: {any: true}",
        "method: {matches: ^P}",
        "json: {skus: [{matches: '^A-[0-9]$'}]}",
        "headers: {X-Tag: {contains: a}, X-Other: {absent: true}}",
        "headers: {idempotency-key: {any: true}}",
        "json: {skus: {contains: A-1}}",
        "json: {id: {any: true}, other: {absent: true}}",
        "json: {contains: {equals: {any: 1}}, id: 7}",
        "json: {skus: {equals: [A-1]}}",
        "json: {lines: {contains: {sku: {matches: ^A}}}}",
    ],
)
def test_what_fits_passes(call: str) -> None:
    assert lines(f"calls: {{paid/erp: {{{call}}}}}") == []


@pytest.mark.parametrize(
    ("call", "failure"),
    [
        ("url: {contains: example.org}",
         'url: expected {"contains":"example.org"}, got "https://erp.example.net/N"'),
        ("url: {matches: 'net$'}",
         'url: expected {"matches":"net$"}, got "https://erp.example.net/N"'),
        ("json: {id: {matches: '7'}}", 'json.id: expected {"matches":"7"}, got 7'),
        ("headers: {x-other: {any: true}}", 'headers.x-other: expected {"any":true}, got nothing'),
        ("headers: {x-tag: {absent: true}}", 'headers.x-tag: expected {"absent":true}, got "a b"'),
        ("json: {skus: {contains: B}}", 'json.skus: expected {"contains":"B"}, got ["A-1"]'),
        ("json: {id: 7, contains: {equals: {}}}",
         'json.contains: expected {"equals":{}}, got {"any":1}'),
        ("json: {skus: {equals: [A]}}", 'json.skus: expected {"equals":["A"]}, got ["A-1"]'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_shown(call: str, failure: str) -> None:
    told = lines(f"calls: {{paid/erp: {{{call}}}}}")
    assert told[0].endswith(f"): {failure}")


def test_lists_and_absent_texts_have_matchers_too() -> None:
    text = RULES % (PAID, "paid/erp: 201", "calls: {paid/desk: {%s}}")
    for fits in (
        "argv: {contains: '--'}",
        "argv: [{any: true}, --, {contains: x}]",
        "stdin: {absent: true}",
        "env: {WEBHOOK_EVENT: {contains: paid}, NONE: {absent: true}}",
    ):
        assert said(text % fits) == []
    assert said(text % "argv: [{any: true}, --]") != []
    assert said(text % "argv: {contains: y}") != []


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("url: {any: false}", "bad-expectation: 'any' is written 'any: true'"),
        ("url: {any: true, absent: true}", "exactly-one: this value needs exactly one of"),
        ("json: {id: {absent: 1}}", "bad-expectation: 'absent' is written 'absent: true'"),
        ("url: {matches: '(a'}", "bad-pattern: a '(' has no ')'"),
        ("json: {id: {matches: [x]}}", "bad-expectation: 'matches' takes a text"),
        ("url: {containing: x}", "unknown-key: unknown key 'containing' in this value"),
    ],
)
def test_a_matcher_that_is_none_is_refused(call: str, complaint: str) -> None:
    (told,) = found(RULES % (PAID, "", f"calls: {{paid/erp: {{{call}}}}}"))
    assert told.startswith(complaint)


# -- answers


def test_the_answer_to_the_sender() -> None:
    ours = "answer: {status: 200, headers: {Content-Type: application/json}, json: {status: %s}}"
    assert lines(ours % "accepted") == []
    assert lines(ours % "duplicate") == ['answer.json.status: expected "duplicate", got "accepted"']
    twice = PAID + ", redeliver: true"
    assert lines("answer: [{json: {status: accepted}}, {json: {status: duplicate}}]", twice) == []
    assert lines("answer: {json: {status: accepted}}", twice) == [
        'answer 2.json.status: expected "accepted", got "duplicate"'
    ]
    told = PAID.replace("shop", "told", 1)
    assert lines("answer: {status: 202, text: {contains: thanks for dlv_}}", told) == []
    assert lines("answer: {status: 200}", told) == ["answer.status: expected 200, got 202"]


def test_the_answer_to_a_handshake() -> None:
    send = "endpoint: chat, handshake: true"
    assert lines("answer: {status: 200, text: {any: true}}, matched: []", send) == []
    assert lines("answer: {status: 404}", send) == ["answer.status: expected 404, got 200"]


@pytest.mark.parametrize(
    ("send", "expect", "complaint"),
    [
        ("endpoint: shop, handshake: true", "status: 200",
         "bad-step: Shopify asks nothing before it sends"),
        ("endpoint: chat, handshake: true, event: x", "status: 200",
         "bad-step: 'handshake' is a step of its own: 'event' cannot stand beside it"),
        (PAID, "answer: {}", "bad-expectation: nothing is expected of this answer"),
        (PAID, "answer: [{status: 200}, {status: 200}]",
         """bad-expectation: 2 answers are expected of 1 deliveries \
(one answer stands for all, a list has one for each)"""),
        (PAID, "answer: {status: 20}", "bad-value: 20 is no HTTP status"),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_come_is_refused(send: str, expect: str, complaint: str) -> None:
    assert found(RULES % (send, "", expect)) == [complaint]


# -- order and time


def test_order() -> None:
    replies = "paid/erp: [503, 201]"
    assert lines("order: [paid/erp, paid/desk]", replies=replies) == []
    assert lines("order: [paid/desk, paid/erp]", replies=replies) == [
        "order: expected [paid/desk, paid/erp], got [paid/erp, paid/desk]"
    ]
    assert lines("order: [paid/erp, paid/alarm]", replies=replies) == [
        "order: expected [paid/erp, paid/alarm], got [paid/erp]"
    ]


def test_delays_between_attempts_are_those_of_the_schedule() -> None:
    down = "paid/erp: 503"
    assert lines("calls: {paid/erp: {times: 3, delays: [5s, 2m]}}", replies=down) == []
    (told,) = lines("calls: {paid/erp: {delays: [5s, 3m]}}", replies=down)
    assert told.endswith("): delays: expected [5s, 3m], got [5s, 2m]")
    asked = "paid/erp: [{status: 429, after: 1h}, 201]"
    assert lines("calls: {paid/erp: {times: 2, delays: 1h}}", replies=asked) == []
    assert lines("calls: {paid/erp: {delays: [1h, 1h]}}", replies=asked) != []
    several = PAID + ", repeat: 2, every: 1h"
    assert lines("calls: {paid/erp: {times: 6, delays: [5s, 2m]}}", several, down) == []


def test_an_order_that_is_none() -> None:
    assert found(RULES % (PAID, "", "order: paid/erp")) == [
        "bad-expectation: an order is one of two actions at least"
    ]


# -- why, and replies that nobody is given


def test_the_rule_is_shown_when_a_count_is_wrong() -> None:
    told = lines("calls: {paid/erp: {times: 1}}", PAID.replace("name: N", "name: held"))
    assert told[0].endswith("times: expected 1, got 0")
    assert told[1:] == [
        "  paid: did not match orders/paid",
        "    F match[0]  payload.name != 'held'                        payload.name = \"held\" (string)",  # noqa: E501
    ]
    told = lines("calls: {paid/desk: {times: 1}}", replies="paid/erp: 200")
    assert told[0].endswith("times: expected 1, got 0; the job is cancelled: when")


HELD = PAID.replace("name: N", "name: held")


@pytest.mark.parametrize(
    ("send", "replies", "expect", "failure"),
    [
        (HELD, "paid/erp: 503", "status: 200", "replies.paid/erp: nothing was answered by it"),
        (PAID, "paid/erp: 200, paid/desk: 1", "matched: paid",
         "replies.paid/desk: nothing was answered by it; the job is cancelled: when"),
        (PAID, "paid/erp: [503, 201, 200]", "matched: paid",
         "replies.paid/erp: 3 are listed, 2 of them were used"),
        (HELD, "paid/erp: 503", "matched: []", None),
        (HELD, "paid/erp: 503", "because: {paid: 'match[0]'}", None),
        (HELD, "paid/erp: 503", "calls: {paid/erp: {times: 0}}", None),
        (PAID, "paid/erp: 200, paid/desk: 1", "cancelled: [paid/desk, paid/alarm]", None),
        (PAID, "paid/erp: [503, 201]", "matched: paid", None),
        (PAID, "paid/erp: {}", "matched: paid", None),
    ],
)  # fmt: skip
def test_a_reply_that_nobody_is_given_fails_the_test(
    send: str, replies: str, expect: str, failure: str | None
) -> None:
    told = lines(expect, send, replies)
    assert told == [] if failure is None else told[0].startswith(failure)
