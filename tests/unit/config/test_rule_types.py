"""Types of a whole file: which events count, what is known where, and each thing told once."""

import pytest

from router.config import load
from router.errors import Diagnostic

HEAD = """version: 1
vars: {limit: 5, names: {a: x}}
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
  mail: {paths: /mail, provider: sendgrid, verify: none}
  code: {paths: /code, provider: github, verify: none}
  pay: {paths: /pay, provider: standard-webhooks, verify: none}
"""


def said(text: str) -> tuple[Diagnostic, ...]:
    return load(HEAD + text, path="rules.yaml", env={}).diagnostics


def codes(text: str) -> list[str]:
    return [d.code for d in said(text)]


def rule(match: str, *, source: str = "shop", events: str = "orders/paid", log: str = "ok") -> str:
    return (
        f"rules:\n  - id: a\n    from: {source}\n    events: {events}\n    match: {match}\n"
        f"    actions: {{log: '{log}'}}\n"
    )


REASON, AGAIN = "payload.cancel_reason != null", "contains(payload.cancel_reason, 'x')"
AGAIN_SAID = "{{ contains(payload.cancel_reason, ''x'') }}"
EITHER = "{any: [\"payload.cancel_reason == 'x'\", \"payload.cancel_reason == 'y'\"]}"
TITLE, OPENED = "payload.title == 'x'", "payload.action == 'opened'"
SHAPELESS = "[\"payload.kind == 'sale'\", \"payload.status == 'success'\", payload.a.b]"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # what a condition says is known to the next and to the actions
        (rule(AGAIN), "nullable-argument"),
        (rule(f'["{REASON}", "{AGAIN}"]'), ""),
        (rule(REASON, log=AGAIN_SAID), ""),
        (rule("payload.confirmed", log=AGAIN_SAID), "nullable-argument"),
        (rule(f'[{{not: payload.cancel_reason == null}}, "{AGAIN}"]'), ""),
        (rule(f'[{{any: [payload.cancel_reason == null, "{AGAIN}"]}}]'), ""),
        (rule(f'[{EITHER}, "{AGAIN}"]'), ""),
        (rule(SHAPELESS, source="pay", events="payout.paid", log="{{ payload.amount }}"), ""),
        # a definition that nobody uses is checked for everybody; its type reaches its users
        ("define: {a: payload.total_prices, b: payload.anything}\n", "unknown-field"),
        ("define: {total: payload.total_price}\n" + rule("def.total > 3"), "text-as-number"),
        ("define: {total: decimal(payload.total_price)}\n" + rule("def.total > 3"), ""),
        # values of the file are closed, but may change
        (rule("var.names.b == 'x'"), "unknown-name"),
        (rule("var.names.a == 'x'"), ""),
        (rule("var.limit == 6"), ""),
        # events decide which shape counts; one that no catalogue has is not judged
        (rule(TITLE), "unknown-field"),
        (rule(TITLE, events="products/update"), ""),
        (rule(TITLE, events="[orders/paid, products/update]"), ""),
        (rule(TITLE, events="refunds/create"), "unknown-field"),
        (rule(TITLE, source="pay", events="payout.paid"), ""),
        (rule(TITLE, source="[shop, pay]", events="[orders/paid, payout.paid]"), ""),
        (rule("payload.anything.at.all == 'x'", events="metafields/create"), "unknown-event"),
        # a pattern with an action fixes the action
        (rule(OPENED, source="code", events="pull_request"), ""),
        (rule(OPENED, source="code", events="pull_request.closed"), "never-true"),
        (rule(OPENED, source="code", events="[pull_request.closed, pull_request.opened]"), ""),
    ],
)
def test_what_is_known_where(text: str, wanted: str) -> None:
    assert codes(text) == wanted.split()


def test_a_definition_is_checked_once_for_the_events_of_its_users() -> None:
    define = "define: {total: payload.totl_price, other: def.total}\n"
    rules = rule("def.other == 'x'")
    (found,) = said(define + rules)
    assert (found.code, found.line) == ("misspelt-field", 8)
    assert (
        codes(
            "define: {size: payload.head_commit.message}\n"
            + rule("def.size == 'x'", source="code", events="push")
        )
        == []
    )


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("payload.order_id == 'A-1'", []),
        ("payload.user_id == 'A-1'", []),  # `userid` is an example's
        ("payload.unique_args.emial == 'x'", []),
        ("payload.emial == 'x'", ["misspelt-field"]),
        ("payload.useragent == 'x'", ["unknown-field"]),
    ],
)
def test_custom_arguments_stand_beside_the_senders_own_fields(
    condition: str, said: list[str]
) -> None:
    assert codes(rule(condition, source="mail", events="delivered")) == said


@pytest.mark.parametrize(
    ("provider", "event", "said"),
    [
        ("gitea", "pull_request.opened", []),
        ("gitea", "pull_requests.opened", ["unknown-event"]),
        ("github", "push.opened", ["unknown-event"]),
    ],
)
def test_actions_are_unknown_only_where_the_catalogue_has_actions(
    provider: str, event: str, said: list[str]
) -> None:
    endpoint = f"version: 1\nendpoints: {{e: {{paths: /e, provider: {provider}, verify: none}}}}\n"
    text = endpoint + rule("payload.sender.login == 'x'", source="e", events=event)
    found = load(text, path="rules.yaml", env={}).diagnostics
    assert [d.code for d in found] == said


@pytest.mark.parametrize(
    ("provider", "event", "hint"),
    [
        ("stripe", "charge.success", "did you mean 'charge.succeeded'?"),
        ("stripe", "customer.tax_id", "known ones are customer.tax_id.created,"),
        ("stripe", "payout.lost", "known ones are payout."),
        ("github", "workflow_run.won", "the actions of 'workflow_run' are completed, requested,"),
        ("github", "push.opened", "'push' has no actions"),
        ("stripe", "xyz", None),
    ],
)
def test_an_unknown_event_is_answered_with_its_neighbours(
    provider: str, event: str, hint: str | None
) -> None:
    endpoint = f"version: 1\nendpoints: {{e: {{paths: /e, provider: {provider}, verify: none}}}}\n"
    text = endpoint + rule("payload.id == 'x'", source="e", events=event)
    found = load(text, path="rules.yaml", env={}).diagnostics
    said = next(d.hint for d in found if d.code == "unknown-event")
    assert said == hint if hint is None else (said or "").startswith(hint)


def test_results_of_earlier_actions_are_closed() -> None:
    def text(when: str) -> str:
        return (
            "rules:\n  - id: a\n    from: shop\n    actions:\n"
            "      - {id: erp, http: https://erp.example.net/}\n"
            f"      - {{id: then, after: erp, when: {when}, log: ok}}\n"
        )

    assert codes(text("results.erp.status == 201")) == []
    assert codes(text("results.erp.json.id != null")) == []
    assert codes(text("results.erp.stat == 201")) == ["unknown-name"]
    assert codes(text("results.erp.exit == 0")) == ["unknown-name"]


def test_results_are_judged_where_no_event_is_known() -> None:
    """A sender without a catalogue: every event is a guess, and what the router adds is known."""
    text = (
        "version: 1\nendpoints: {any: {paths: /any, provider: none, verify: none}}\n"
        "rules:\n  - id: a\n    from: any\n    actions:\n"
        "      - {id: erp, http: https://erp.example.net/}\n"
        '      - {after: erp, log: "{{ results.erp.sttus }} {{ payload.x.y }}"}\n'
    )
    [found] = load(text, path="rules.yaml", env={}).diagnostics
    assert (found.code, found.hint) == ("unknown-name", "did you mean 'status'?")


def test_what_stands_twice_is_reported_at_both_places_once() -> None:
    one, two = "payload.curency == 'EUR'", "payload.curency != 'USD'"
    found = said(rule(f'["{one}", "{two}"]'))
    assert [(d.code, d.line) for d in found] == [("misspelt-field", 12)] * 2
    assert len({d.column for d in found}) == 2


def test_dedupe_keys_are_checked() -> None:
    endpoint = "dedupe: {key: payload.sg_evnt_id}"
    text = HEAD.replace("provider: sendgrid", f"provider: sendgrid, {endpoint}")
    found = load(text, path="rules.yaml", env={}).diagnostics
    assert [d.code for d in found] == ["misspelt-field"]


@pytest.mark.parametrize(
    ("match", "follows"),
    [
        ("event == 'orders/paid'", "so it decides nothing: leave it out or mend it; here event is"),
        ("event == 'orders/create'", "so the rule never matches; here event is"),
        ("length(payload.line_items) >= 0", "so it asks only whether the value is there; here"),
        (
            "{not: event == 'orders/paid'}",
            "so its `not` never holds and the rule never matches; here",
        ),
        ("{not: length(payload.line_items) < 0}", "so its `not` is true of every value that comes"),
        (
            "{not: length(payload.line_items) >= 0}",
            "so its `not` never holds and the rule never matches; here",
        ),
        (
            "{any: [payload.test, event == 'orders/paid']}",
            "so its `any` holds whatever else stands there; here",
        ),
        (
            "{any: [payload.test, event == 'orders/create']}",
            "so it adds nothing to its `any`; here event",
        ),
        (
            "{any: [{not: event == 'orders/paid'}, payload.test]}",
            "so its `not` never holds and it adds nothing to its `any`; here event",
        ),
        (
            "{not: {any: [event == 'orders/paid', payload.test]}}",
            "so its `any` holds whatever else stands there and its `not` never holds and the rule",
        ),
        ("{any: [length(payload.line_items) >= 0, payload.test]}", "here length("),
        ("event == 'orders/create' || payload.test", "here event is"),
    ],
)
def test_what_follows_for_the_rule_is_said(match: str, follows: str) -> None:
    (found,) = said(rule(match if match.startswith("{") else f'"{match}"'))
    assert (found.hint or "").startswith(follows)


# -- otherwise


UNREACHED = ["unreachable-otherwise"]


@pytest.mark.parametrize(
    ("first", "rest", "wanted"),
    [
        ("from: shop", "from: shop", UNREACHED),
        ("from: shop, events: '*'", "from: shop", UNREACHED),
        ("from: shop, events: orders/*", "from: shop, events: orders/paid", UNREACHED),
        (
            "from: code, events: pull_request",
            "from: code, events: pull_request.closed",
            UNREACHED,
        ),
        # a condition that is always true is none
        ("from: shop, match: '`1` == `1`'", "from: shop", ["always-true", *UNREACHED]),
        ("from: shop, events: orders/paid", "from: shop", []),
        ("from: all", "from: shop", []),
        ("from: shop, mode: shadow", "from: shop", []),
        ("from: shop, match: payload.test", "from: shop", []),
        ("from: mail", "from: shop", []),
        ("from: shop", "from: [shop, mail]", []),
    ],
)
def test_whether_an_otherwise_is_reached(first: str, rest: str, wanted: list[str]) -> None:
    log = "actions: {log: ok}"
    rules = f"  - {{id: a, {first}, {log}}}\n  - {{id: b, {rest}, otherwise: true, {log}}}\n"
    assert codes(f"rules:\n{rules}") == wanted


# -- shapes of the file's own providers


def own(shapes: str, match: str) -> list[str]:
    text = (
        "version: 1\nproviders:\n  desk:\n"
        "    verify: {scheme: hmac, header: X-Desk-Signature}\n"
        "    event: {header: X-Desk-Event}\n"
        f"    shapes: {shapes}\n"
        "secrets: {desk: {env: DESK}}\n"
        "endpoints:\n  desk: {paths: /desk, provider: desk, secrets: desk}\n"
        f"rules:\n  - {{id: a, from: desk, match: {match}, actions: {{log: ok}}}}\n"
    )
    return [d.code for d in load(text, path="rules.yaml", env={}).diagnostics]


@pytest.mark.parametrize(
    ("shape", "match", "wanted"),
    [
        ("string", "payload.a == 'x'", []),
        ("string", "payload.b == 'x'", ["unknown-field"]),
        ("money", "payload.a > 3", ["text-as-number"]),
        ("strng", "payload.a == 'x'", ["bad-provider"]),
    ],
)
def test_the_file_s_own_shapes_are_used(shape: str, match: str, wanted: list[str]) -> None:
    """Even without a catalogue; a wrong one is an error of the provider."""
    assert own(f"{{payloads: [{{for: '*', fields: {{a: {shape}}}}}]}}", match) == wanted


def test_shapes_deeper_than_the_stack_are_let_be() -> None:
    pieces = ", ".join(
        f"p{n}: {{fields: {{a: {f'p{n + 1}' if n < 3000 else 'string'}}}}}"
        for n in range(3000, -1, -1)
    )
    shapes = f"{{types: {{{pieces}}}, payloads: [{{for: '*', fields: {{a: p0}}}}]}}"
    assert own(shapes, "(payload.a || payload.a.a) == payload.a") == []


TWO_NAMES = """version: 1
endpoints:
  hub: {paths: /hub, provider: github, verify: none}
  code: {paths: /code, provider: code-host, verify: none}
  shop: {paths: /shop, provider: shopify, verify: none}
rules:
  - {id: a, from: SOURCE, match: "MATCH", actions: {log: "ok"}}
"""


def named(match: str, source: str) -> list[tuple[str, str | None]]:
    text = TWO_NAMES.replace("MATCH", match).replace("SOURCE", source)
    return [(d.code, d.hint) for d in load(text, path="rules.yaml", env={}).diagnostics]


def test_a_provider_is_compared_by_the_name_that_its_endpoint_gives_it() -> None:
    assert named("provider == 'github'", "[hub, shop]") == []
    assert named("provider == 'code-host'", "[code, shop]") == []
    fix = "write 'github', as the endpoint does"
    assert named("provider == 'code-host'", "[hub, shop]") == [("provider-alias", fix)]
    listed = "contains(['code-host', 'shopify'], provider)"
    assert named(listed, "[hub, shop]") == [("provider-alias", fix)]
    assert named("provider == 'github'", "all") == named("provider == 'code-host'", "all") == []
    assert named("provider == 'commerce'", "all") == [
        ("provider-alias", "write 'shopify', as the endpoint does")
    ]


def test_a_field_of_that_name_is_none_of_the_senders() -> None:
    meant = "did you mean provider, without payload?"
    assert named("payload.provider == 'code-host'", "hub") == [("unknown-field", meant)]
    assert "provider-alias" not in {
        code for code, _ in named("payload.x[?provider == 'code-host']", "hub")
    }


BATCH = """version: 1
providers:
  sensors: {verify: {scheme: none}, split: 100, split_at: data.value, event: {field: type}}
  plain: {verify: {scheme: none}, split: 100, event: {field: type}}
endpoints:
  sensors: {paths: /s, provider: sensors, verify: none}
  plain: {paths: /p, provider: plain, verify: none}
rules:
  - {id: a, from: SOURCE, match: "MATCH", actions: {log: "{{ payload.tags[0] }}"}}
"""


@pytest.mark.parametrize(
    ("source", "match", "meant"),
    [
        ("sensors", "payload.data.value[0].type == 'x'", "payload.data.value is no list here"),
        ("sensors", "length(payload.data.value[*].type) > `0`", "payload.data.value is no list"),
        ("sensors", "payload.data.other[0].type == 'x'", None),
        ("sensors", "payload.value[0].type == 'x'", None),
        ("sensors", "payload.type == 'x'", None),
        ("plain", "payload[0].type == 'x'", "payload is no list here"),
        ("plain", "payload.value[0].type == 'x'", None),
    ],
)
def test_of_a_batch_an_event_is_one_element(source: str, match: str, meant: str | None) -> None:
    text = BATCH.replace("SOURCE", source).replace("MATCH", match)
    found = load(text, path="rules.yaml", env={}).diagnostics
    lists = [d for d in found if d.code == "not-a-list"]
    assert [d.severity for d in lists] == ([] if meant is None else ["warning"])
    assert meant is None or meant in lists[0].message
    assert len(found) == len(lists), found


@pytest.mark.parametrize(
    ("match", "code"),
    [
        ("shop == 'a.b' && shop != 'c.b'", "always-true"),
        ("!(payload.note == 'gift1') || payload.note == 'gift2'", "never-true"),
        ("payload.name == 'order1' && payload.name == 'order2'", "never-true"),
        ("payload.financial_status == 'paid' && payload.financial_status != 'paide'", None),
    ],
)
def test_a_text_that_a_condition_asks_for_makes_no_other_a_misspelling(
    match: str, code: str | None
) -> None:
    assert codes(rule(f'"{match}"')) == [code or "misspelt-value"]


def test_a_value_that_a_condition_rules_out_is_a_right_word() -> None:
    match = "[\"payload.action == 'opened'\", \"payload.action != 'reopened'\"]"
    assert codes(rule(match, source="code", events="issues")) == ["always-true"]
