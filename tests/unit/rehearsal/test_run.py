"""Trials of small rules files: what the parts of the router make of them together."""

import random
from pathlib import Path
from typing import Any

import pytest

from router.config import load, render_text
from router.kinds.http import HttpCall
from router.kinds.kind import ActionCall
from router.kinds.shell import ShellCall
from router.model.job import Done, Job, Outcome, RetryOutcome
from router.model.trial import Trial
from router.rehearsal import Coverage, TrialResult, TrialRunner
from router.rehearsal.differences import picture
from router.rehearsal.run import Act

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
TOTAL = f"{'decimal(payload.total_price) >= 500':<46}"
BIG = "endpoint: shop, event: orders/paid, set: {total_price: 500, test: false, name: N, id: 7}"


def staged(*lines: str, act: Act | None = None) -> tuple[TrialRunner, tuple[Trial, ...]]:
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    loaded = load(text, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    rng = random.Random(7)
    return TrialRunner(
        loaded.ruleset, environ={"PATH": "/bin"}, random_bytes=rng.randbytes, act=act
    ), loaded.trials


def rehearse(*lines: str, act: Act | None = None) -> TrialResult:
    runner, trials = staged(*lines, act=act)
    runner.run(trials[0])  # what it leaves behind must not matter
    return runner.run(trials[0])


PUBLISHING = """
version: 1
endpoints:
  hook:
    id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f59
    provider: jwt
    verify: {jwks_url: "https://keys.example/jwks", audience: us}
rules:
  - {id: told, from: hook, actions: {log: "{{ payload.n }}"}}
tests:
  - name: a
    send: {endpoint: hook, event: x, payload: {n: 5}}
    expect: {status: 200, matched: told}
  - {name: b, send: {endpoint: hook, event: x, tamper: signature}, expect: {status: 401}}
"""
ASKING = (
    PUBLISHING.replace("provider: jwt", "provider: asked").replace(
        '    verify: {jwks_url: "https://keys.example/jwks", audience: us}\n', ""
    )
    + """
secrets: {ours: {env: OURS}}
providers:
  asked:
    verify:
      scheme: introspection
      audience: us
      introspect: {url: "https://id.example/i", client_id: router, client_secret: ours}
"""
)

BOTH = """
version: 1
secrets: {mail: {env: MAIL}}
endpoints:
  hook:
    id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f59
    provider: sendgrid
    secrets: mail
    verify: {signature: required, jwks_url: "https://id.example/keys", audience: us}
rules:
  - {id: told, from: hook, events: bounce, actions: {log: "{{ payload.email }}"}}
tests:
  - {name: a, send: {endpoint: hook, event: bounce}, expect: {status: 200, matched: told}}
  - {name: b, send: {endpoint: hook, event: bounce, tamper: signature}, expect: {status: 403}}
  - {name: c, send: {endpoint: hook, event: bounce, tamper: body}, expect: {status: 403}}
"""


@pytest.mark.parametrize("text", [PUBLISHING, ASKING, BOTH])
def test_nothing_is_fetched_and_nobody_asked(tmp_path: Path, text: str) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "crm.py").write_text("def verify(body, headers, secrets): 1 / 0")
    loaded = load(text, path=str(tmp_path / "rules.yaml"), env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(7).randbytes)
    assert {runner.run(trial).failures for trial in loaded.trials} == {()}


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
    ("send: {endpoint: mail, event: bounce, set: {sg_event_id: mine}, repeat: 2}",
     "expect: {status: 200, calls: {bounces/log: {times: 1}}}"),
    ("send: {endpoint: mail, event: bounce, repeat: 2}",
     "expect: {status: 200, calls: {bounces/log: {times: 2}}}"),
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
    (f"send: [{{{BIG}}}, {{advance: 6d}}, {{again: true}}, {{advance: 2d}}, {{again: true}}]",
     "expect: {status: 200, calls: {paid/erp: {times: 2}}}"),
    (f"send: [{{{BIG}, repeat: 2}}, {{again: true, repeat: 3, every: 4d}}]",
     "expect: {status: [200, 200, 200, 200, 200], calls: {paid/erp: {times: 3}}}"),
    (f"send: {{{BIG}, headers: {{X-Shopify-Webhook-Id: same}}, repeat: 2}}",
     "expect: {status: 200, calls: {paid/erp: {times: 1}}}"),
    (f"send: {{{BIG}, headers: {{x-shopify-topic: null}}}}",
     "expect: {status: 200, because: {paid: 'skipped: event'}}"),
    (f'send: {{{BIG}, headers: {{X-Shopify-Topic: " orders/paid  "}}}}',
     "expect: {status: 200, calls: {paid/erp: {times: 1}}}"),
    (f"send: {{{BIG}, tamper: body, headers: {{X-Shopify-Hmac-Sha256: eA==}}}}",
     "expect: {status: 401}"),
    ("clock: 2026-01-30", f"send: {{{BIG.replace('shop', 'late')}, repeat: 3, every: 1d}}",
     "expect: {status: [200, 200, 401]}"),
    (f"send: [{{{BIG}}}, {{advance: 5s}}]", "replies: {paid/erp: 500, paid/run: 75}",
     "expect: {dead: [paid/erp, paid/run], cancelled: []}"),
    ("send: {endpoint: shop, event: orders/paid, set: {total_price: 900, test: true}}",
     "expect: {because: {paid: payload.test, bounces: 'skipped: endpoint'}}"),
    ("send: {endpoint: shop, event: orders/paid, set: {total_price: x, test: true}}",
     """expect: {because: {paid: 'match[0]'}}"""),
    (f"send: {{{BIG}}}", "expect: {because: {other: 'skipped: otherwise'}}"),
]  # fmt: skip


@pytest.mark.parametrize("lines", PASSING, ids=range(len(PASSING)))
def test_what_is_true_passes(lines: tuple[str, ...]) -> None:
    assert rehearse(*lines).failures == ()


FAILING: list[tuple[tuple[str, ...], list[str]]] = [
    ((f"send: {{{BIG}, tamper: body}}", "expect: {status: 200}"),
     ["status: expected 200, got 401 (bad_signature)"]),
    ((f"send: {{{BIG}, redeliver: true}}", "expect: {status: [200, 401]}"),
     ["status: expected [200, 401], got [200, 200]"]),
    (("send: {endpoint: shop, event: orders/paid, set: {total_price: x, test: true}}",
      "expect: {matched: paid}"),
     ["matched: expected [paid], got [other]",
      "  paid: did not match orders/paid",
      f"    E match[0]  {TOTAL}decimal() cannot read 'x' as a number",
      "    F match[1]  not: payload.test",
      f"              T {'payload.test':<46}payload.test = true (boolean)",
      "  other: matched orders/paid"]),
    (("send: {endpoint: shop, event: orders/create}", "expect: {matched: [paid, held, other]}"),
     ["matched: expected [held, other, paid], got [held, other]",
      "  paid: its 'events' do not let orders/create in"]),
    (("send: {endpoint: mail, event: open}", "expect: {matched: [paid, whole]}"),
     ["matched: expected [paid, whole], got [whole]", "  paid: its 'from' does not name mail"]),
    ((f"send: {{{BIG}, tamper: body}}", "expect: {matched: [paid]}"),
     ["matched: expected [paid], got []", "  paid: nothing was accepted"]),
    ((f"send: {{{BIG}}}", "expect: {shadow: [], matched: []}"),
     ["matched: expected [], got [paid]",
      "  paid: matched orders/paid",
      f"    T match[0]  {TOTAL}decimal(payload.total_price) = 500 (number)",
      "    T match[1]  not: payload.test",
      f"              F {'payload.test':<46}payload.test = false (boolean)",
      "shadow: expected [], got [dark]",
      "  dark: matched orders/paid"]),
    ((f"send: {{{BIG}}}", "expect: {matched: [paid, other]}"),
     ["matched: expected [other, paid], got [paid]",
      "  other: 'otherwise' is skipped, because paid matched"]),
    ((f"send: {{{BIG}}}", "expect: {calls: {paid/erp: {times: 2, json: {n: M, m: [1]}}}}"),
     ["calls.paid/erp (line 37): times: expected 2, got 1",
      "  paid: matched orders/paid",
      f"    T match[0]  {TOTAL}decimal(payload.total_price) = 500 (number)",
      "    T match[1]  not: payload.test",
      f"              F {'payload.test':<46}payload.test = false (boolean)",
      'calls.paid/erp (line 37): json.n: expected "M", got "N"',
      "calls.paid/erp (line 37): json.m: expected [1], got nothing",
      "    {",
      '  -   "n": "M"',
      '  +   "n": "N"',
      '  -   "m": [1]',
      "    }"]),
    (("send: {endpoint: shop, event: orders/paid, set: {total_price: 900, test: true}}",
      "expect: {because: {paid: 'match[0]', dark: 'skipped: event'}}"),
     ["because.paid: expected 'match[0]', got 'not: payload.test'",
      "  paid: did not match orders/paid",
      f"    T match[0]  {TOTAL}decimal(payload.total_price) = 900 (number)",
      "    F match[1]  not: payload.test",
      f"              T {'payload.test':<46}payload.test = true (boolean)",
      "because.dark: expected 'skipped: event', but it matched",
      "  dark: matched orders/paid"]),
    ((f"send: {{{BIG}, tamper: body}}", "expect: {because: {paid: payload.test}}"),
     ["because.paid: expected 'payload.test', got nothing: no rule was evaluated",
      "  paid: nothing was accepted"]),
    ((f"send: {{{BIG}}}", "expect: {cancelled: [paid/erp]}"),
     ["cancelled: expected [paid/erp], got []"]),
    (("real: true", f"send: {{{BIG}}}", "expect: {status: 200}"),
     ["not run: it says 'real: true', so its shell and python actions would really run"]),
    ((f"send: {{{BIG}}}", "expect: {calls: {paid/run: {argv: [run, '--']}}}"),
     ['calls.paid/run (line 37): argv: expected ["run","--"], got ["run","--","N"]']),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), FAILING, ids=range(len(FAILING)))
def test_what_is_false_says_why(lines: tuple[str, ...], said: list[str]) -> None:
    assert list(rehearse(*lines).failures) == said


def test_a_job_that_cannot_be_rendered_is_dead_and_says_so() -> None:
    send = "send: {endpoint: shop, event: orders/paid, payload: {total_price: '900', name: N}}"
    result = rehearse(send, "expect: {calls: {paid/erp: {}}, dead: []}")
    assert result.failures[0].startswith(
        "calls.paid/erp (line 37): times: expected at least 1, got 0; the job is dead: http.path"
    )
    assert "dead: expected [], got [paid/erp]" in result.failures


def test_calls_are_kept_as_they_were_rendered() -> None:
    result = rehearse(f"send: {{{BIG}}}", "replies: {paid/erp: [503, 200]}", "expect: {dead: []}")
    first, second = result.seen.calls["paid", "erp"]
    assert isinstance(first, HttpCall)
    assert isinstance(second, HttpCall)
    assert _attempts(first, second) == ["1", "2"]
    (ran,) = result.seen.calls["paid", "run"]
    assert isinstance(ran, ShellCall)


def _attempts(*calls: HttpCall) -> list[Any]:
    return [dict(call.headers)["router-attempt"] for call in calls]


def test_a_real_trial_runs_what_nobody_answers() -> None:
    """And no http call: that one is recorded as ever."""
    ran: list[ActionCall] = []

    def act(call: ActionCall, job: Job) -> Outcome:
        ran.append(call)
        return Done() if len(ran) % 3 == 0 else RetryOutcome("temporary", "try again")

    real = rehearse("real: true", f"send: {{{BIG}}}", "expect: {dead: []}", act=act)
    assert real.failures == ()
    assert [type(call) for call in ran[-3:]] == [ShellCall] * 3
    assert real.seen.ends == {("paid", "erp"): {"success"}, ("paid", "run"): {"success", "retry"}}
    ran.clear()
    rehearse(f"send: {{{BIG}}}", "expect: {dead: []}", act=act)
    rehearse("real: true", "replies: {paid/run: 1}", f"send: {{{BIG}}}",
                   "expect: {dead: [paid/run]}", act=act)  # fmt: skip
    assert ran == []


def test_a_real_trial_runs_only_so_much() -> None:
    def act(call: ActionCall, job: Job) -> Outcome:
        return Done()

    real = rehearse("real: true", f"send: {{{BIG}, repeat: 101}}", "expect: {dead: []}", act=act)
    assert real.failures == (
        "dead: expected [], got [paid/run]", "  paid/run: a test runs at most 100 actions"
    )  # fmt: skip


def test_coverage_tells_what_was_never_tried() -> None:
    runner, trials = staged(
        f"send: {{{BIG}}}", "replies: {paid/erp: [503, 200]}", "expect: {dead: []}"
    )
    coverage = Coverage(runner.ruleset, runner.explainer)
    assert coverage.counted == (0, 17)
    coverage.add(runner.run(trials[0]))
    assert list(coverage.lines())[:5] == [
        "paid: matched",
        "  match[0]  decimal(payload.total_price) >= 500           true 1, NEVER FALSE",
        "  match[1]  payload.test                                  NEVER TRUE, false 1",
        "  erp                                                     success, retry",
        "  run                                                     success",
    ]
    assert coverage.counted == (6, 17)
    found = coverage.as_json()
    assert found["percent"] == 35.3
    assert found["rules"][0]["actions"]["erp"] == {"success": True, "retry": True, "dead": False}


def test_a_long_picture_is_cut() -> None:
    lines = picture({str(n): n for n in range(100)}, {str(n): -n for n in range(100)})
    assert (len(lines), lines[-1]) == (61, "  … 141 more lines")
    assert picture([1, {"a": "b"}], [1, {"a": "b", "c": 1}, 3]) == [
        "  [",
        "    1",
        "    {",
        '      "a": "b"',
        "      … 1 more key",
        "    }",
        "+   3",
        "  ]",
    ]
