"""Trials of small rules files: what the parts of the router make of them together."""

import random
from typing import Any

import pytest

from router.config import load, render_text
from router.model.call import HttpCall, ShellCall
from router.rehearsal import Result, Stage

HEAD = """\
version: 1
secrets:
  shop: {env: A}
  old: {env: B, until: 2026-02-01}
  mail: {file: mail.pem}
  erp: {env: C}
  chat: {env: D}
targets:
  erp: {url: "https://erp.example.net", auth: {bearer: erp}}
  chat: {url: {secret: chat}}
endpoints:
  shop: {id: shop-0123456789abcdef, provider: shopify, secrets: [shop, old]}
  late: {id: late-0123456789abcdef, provider: shopify, secrets: old}
  small: {id: small-0123456789abcdef, provider: shopify, secrets: shop, body_max: 1KiB}
  near: {paths: [/a, /orders/paid], provider: shopify, secrets: shop, allow_from: [10.0.0.0/8]}
  mail: {id: mail-0123456789abcdef, provider: sendgrid, secrets: mail}
  open: {id: open-0123456789abcdef, provider: github, verify: none}
  again: {id: again-0123456789abcdef, provider: shopify, secrets: shop, on_redelivery: revive}
rules:
  - id: paid
    from: [shop, late, near, again]
    events: orders/paid
    match: [decimal(payload.total_price) >= 500, {not: payload.test}]
    actions:
      - {id: erp, http: {target: erp, path: "/o/{{ payload.id }}", json: {n: "{{ payload.name }}"}}}
      - id: run
        shell: {argv: [run, "--", "{{ payload.name }}"], env: {TOKEN: "{{ secret.erp }}"}}
  - {id: other, from: shop, otherwise: true, actions: {http: {target: chat, json: {a: 1}}}}
  - {id: dark, mode: shadow, from: shop, actions: {log: x}}
  - {id: held, mode: paused, from: shop, events: orders/create, actions: {log: x}}
  - {id: bounces, from: mail, events: bounce, actions: {log: "{{ payload.email }}"}}
  - {id: whole, per: delivery, from: mail, actions: {log: "{{ length(events) }} events"}}
  - {id: pushes, from: open, events: push, actions: {log: "{{ branch }}"}}
tests:
  - name: t
"""
BIG = "endpoint: shop, event: orders/paid, set: {total_price: 500, test: false, name: N, id: 7}"


async def rehearse(*lines: str) -> Result:
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    loaded = load(text, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    stage = Stage(loaded.ruleset, environ={"PATH": "/bin"}, random_bytes=random.Random(7).randbytes)
    await stage.run(loaded.trials[0])  # what it leaves behind must not matter
    return await stage.run(loaded.trials[0])


PASSING: list[tuple[str, ...]] = [
    (f"send: {{{BIG}}}", "expect: {status: 200, matched: paid, shadow: dark, dead: []}"),
    ("send: {endpoint: shop, event: orders/paid, set: {total_price: 499.99, test: false}}",
     """expect: {matched: [other], calls: {paid/erp: {times: 0},
         other/http: {url: 'https://secret.invalid/chat', json: {a: 1}}}}"""),
    (f"send: {{{BIG}}}", """expect: {calls: {paid/erp: {times: 1, method: POST,
         url: https://erp.example.net/o/7, json: {n: N}, headers: {Authorization: Bearer secret-erp,
         content-type: application/json}}, paid/run: {argv: [run, '--', N], env: {TOKEN: secret-erp,
         WEBHOOK_EVENT: orders/paid, PATH: /bin}}}}"""),
    (f"send: {{{BIG}, tamper: signature}}", "expect: {status: 401, matched: [], shadow: []}"),
    (f"send: {{{BIG}, tamper: body}}", "expect: {status: 401, matched: []}"),
    (f"send: {{{BIG}, redeliver: true}}", "expect: {status: 200, calls: {paid/erp: {times: 1}}}"),
    (f"send: {{{BIG}, repeat: 3}}", "expect: {status: 200, calls: {paid/erp: {times: 3}}}"),
    (f"send: [{{{BIG}, repeat: 2, redeliver: true}}, {{{BIG}, tamper: body}}]",
     "expect: {status: [200, 200, 200, 200, 401], calls: {paid/erp: {times: 2}}}"),
    (f"send: {{{BIG}}}", "replies: {paid/erp: [503, {error: timeout}, 201]}",
     "expect: {calls: {paid/erp: {times: 3}}, dead: []}"),
    (f"send: {{{BIG}}}", "replies: {paid/erp: [410], paid/run: 75}",
     "expect: {calls: {paid/erp: {times: 1}, paid/run: {times: 3}}, dead: [paid/erp, paid/run]}"),
    (f"send: {{{BIG}}}", "replies: {paid/erp: 500}",
     "expect: {calls: {paid/erp: {times: 11}}, dead: paid/erp}"),
    ("send: {endpoint: late, event: orders/paid}", "expect: {status: 200}"),
    ("clock: 2026-02-02", "send: {endpoint: late, event: orders/paid}", "expect: {status: 401}"),
    ("send: {endpoint: near, event: orders/paid, set: {total_price: 900, test: false}}",
     "expect: {status: 200, matched: paid}"),
    ("send: {endpoint: mail, event: bounce, set: {email: a@example.com}}",
     "expect: {matched: [bounces, whole], calls: {bounces/log: {message: a@example.com}}}"),
    ("send: {endpoint: mail, event: bounce, payload: [{event: bounce, email: a}, {event: open}]}",
     "expect: {matched: [bounces, whole], calls: {whole/log: {times: 1, message: 2 events}}}"),
    ("send: {endpoint: mail, event: bounce, tamper: signature}", "expect: {status: 403}"),
    ("send: {endpoint: open, event: push, set: {ref: refs/heads/x}}",
     "expect: {matched: pushes, calls: {pushes/log: {message: x}}}"),
    ("send: {endpoint: shop, event: orders/create}",
     "expect: {matched: [held, other], calls: {held/log: {times: 0}}}"),
    ("send: {endpoint: small, event: orders/paid, set: {note: \"" + "x" * 1100 + "\"}}",
     "expect: {status: 413}"),
    ("""send: {endpoint: again, event: orders/paid, set: {total_price: 900, test: false},
         redeliver: true}""", "replies: {paid/run: [1, 0]}",
     "expect: {calls: {paid/run: {times: 2}}, dead: []}"),
]  # fmt: skip


@pytest.mark.parametrize("lines", PASSING, ids=range(len(PASSING)))
async def test_what_is_true_passes(lines: tuple[str, ...]) -> None:
    assert (await rehearse(*lines)).failures == ()


FAILING: list[tuple[tuple[str, ...], list[str]]] = [
    ((f"send: {{{BIG}, tamper: body}}", "expect: {status: 200}"),
     ["status: expected 200, came 401 (bad_signature)"]),
    ((f"send: {{{BIG}, redeliver: true}}", "expect: {status: [200, 401]}"),
     ["status: expected [200, 401], came [200, 200]"]),
    (("send: {endpoint: shop, event: orders/paid, set: {total_price: x, test: true}}",
      "expect: {matched: paid}"),
     ["matched: expected [paid], came [other]",
      "  paid: decimal(payload.total_price) >= 500: error, decimal() cannot read 'x' as a number",
      "  paid: not: payload.test: false"]),
    (("send: {endpoint: shop, event: orders/create}", "expect: {matched: [paid, held, other]}"),
     ["matched: expected [held, other, paid], came [held, other]",
      "  paid: its 'events' do not let orders/create in"]),
    (("send: {endpoint: mail, event: open}", "expect: {matched: [paid, whole]}"),
     ["matched: expected [paid, whole], came [whole]", "  paid: its 'from' does not name mail"]),
    ((f"send: {{{BIG}, tamper: body}}", "expect: {matched: [paid]}"),
     ["matched: expected [paid], came []", "  paid: nothing was accepted"]),
    ((f"send: {{{BIG}}}", "expect: {shadow: [], matched: []}"),
     ["matched: expected [], came [paid]", "shadow: expected [], came [dark]"]),
    ((f"send: {{{BIG}}}", "expect: {matched: [paid, other]}"),
     ["matched: expected [other, paid], came [paid]",
      "  other: it has 'otherwise', and another rule matched"]),
    ((f"send: {{{BIG}}}", "expect: {calls: {paid/erp: {times: 2, json: {n: M, m: [1]}}}}"),
     ["calls.paid/erp (line 37): times: expected 2, came 1",
      'calls.paid/erp (line 37): json.n: expected "M", came "N"',
      "calls.paid/erp (line 37): json.m: expected [1], came nothing"]),
    ((f"send: {{{BIG}}}", "expect: {calls: {paid/run: {argv: [run, '--']}}}"),
     ['calls.paid/run (line 37): argv: expected ["run","--"], came ["run","--","N"]']),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), FAILING, ids=range(len(FAILING)))
async def test_what_is_false_says_why(lines: tuple[str, ...], said: list[str]) -> None:
    assert list((await rehearse(*lines)).failures) == said


async def test_a_job_that_cannot_be_rendered_is_dead_and_says_so() -> None:
    send = "send: {endpoint: shop, event: orders/paid, payload: {total_price: '900', name: N}}"
    result = await rehearse(send, "expect: {calls: {paid/erp: {}}, dead: []}")
    assert result.failures[0].startswith(
        "calls.paid/erp (line 37): times: expected at least 1, came 0; the job is dead: http.path"
    )
    assert result.failures[1] == "dead: expected [], came [paid/erp]"


async def test_calls_are_kept_as_they_were_rendered() -> None:
    result = await rehearse(
        f"send: {{{BIG}}}", "replies: {paid/erp: [503, 200]}", "expect: {dead: []}"
    )
    first, second = result.seen.calls["paid", "erp"]
    assert isinstance(first, HttpCall)
    assert isinstance(second, HttpCall)
    assert _attempts(first, second) == ["1", "2"]
    (ran,) = result.seen.calls["paid", "run"]
    assert isinstance(ran, ShellCall)


def _attempts(*calls: HttpCall) -> list[Any]:
    return [dict(call.headers)["router-attempt"] for call in calls]
