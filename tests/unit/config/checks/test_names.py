"""Names that nothing uses, and those that are used in ways that are easy to miss."""

from tests.unit.config.checks import HEAD, codes, findings

RULE = "  - {{id: {name}, from: shop, events: {events}, {more}actions: {{log: {text}}}}}\n"


def rule(name: str = "a", events: str = "orders/paid", text: str = "a", more: str = "") -> str:
    return RULE.format(name=name, events=events, text=f'"{text}"', more=more)


def rules(*texts: str) -> str:
    return "rules:\n" + "".join(texts)


def test_a_variable_is_read_by_definitions_targets_and_whole() -> None:
    used = "vars: {low: 1}\n"
    assert codes(used + rules(rule())) == ["unused-var"]
    assert codes(used + "define: {d: var.low}\n" + rules(rule(text="{{ def.d }}"))) == []
    assert codes(used + rules(rule(text="{{ $.var.low }}"))) == []
    assert codes(used + rules(rule(text="{{ keys(var) }}"))) == []
    assert codes(used + rules(rule(text="{{ keys($) }}"))) == []
    calls = 'targets: {erp: {url: "https://erp.example.net", headers: {X-A: "{{ var.low }}"}}}\n'
    action = "rules: [{id: a, from: shop, actions: {http: {target: erp}}}]"
    assert codes(used + calls + action) == []


def test_a_definition_is_read_by_another_and_by_a_dedupe_key() -> None:
    defined = "define: {a: payload.id, b: def.a}\n"
    assert findings(defined + rules(rule())) == [
        ("unused-define", 5, "the definition 'b' is used nowhere")
    ]
    keyed = HEAD.replace("secrets: shop}", "secrets: shop, dedupe: {key: def.b}}")
    assert codes(defined, keyed) == []


def test_all_takes_every_endpoint_but_the_router_takes_none() -> None:
    assert codes(rules(rule().replace("from: shop", "from: all"))) == []
    assert codes("") == []
    own = "  - {id: b, from: router, events: job.dead, actions: {log: b}}\n"
    assert codes(rules(own)) == ["unused-endpoint"]


def test_a_policy_is_named_by_rules_actions_and_shared_actions() -> None:
    policies = "retries: {slow: {schedule: [1h]}}\n"
    assert codes(policies + rules(rule())) == ["unused-retry"]
    assert codes(policies + rules(rule(more="retry: slow, "))) == []
    shared = (
        "actions: {tell: {log: a, retry: slow}}\nrules: [{id: a, from: shop, actions: {use: tell}}]"
    )
    assert codes(policies + shared) == []


def test_a_header_is_never_there_however_it_is_read() -> None:
    for read in ('$.headers.\\"X-A\\"', "lookup(headers, 'X-A')", 'exists(headers.\\"X-A\\")'):
        assert codes(rules(rule(text=f"{{{{ {read} }}}}"))) == ["header-never-there"], read
    for read in ('headers.\\"x-a\\"', "lookup(headers, payload.name)", "payload.headers.Host"):
        assert "header-never-there" not in codes(rules(rule(text=f"{{{{ {read} }}}}"))), read


def test_headers_of_results_are_lower_case_too_and_of_any_name() -> None:
    call = 'id: erp, http: "https://erp.example.net"'
    log = 'after: erp, log: "{{ %s }}"'
    for read, said in (
        ('results.erp.headers.\\"X-A\\"', ["header-never-there"]),
        ("$.results.erp.headers.Location", ["header-never-there"]),
        ("lookup(results.erp.headers, 'X-A')", ["header-never-there"]),
        ("results.erp.headers.location", []),
        ('results.erp.headers.\\"x-shopify-topik\\"', []),
        ("lookup(results.erp.headers, payload.name)", []),
        ("results.erp.json.Headers.Location", []),
    ):
        actions = f"[{{{call}}}, {{{log % read}}}]"
        text = f"rules: [{{id: a, from: shop, actions: {actions}}}]"
        assert [code for code in codes(text) if "header" in code] == said, read


def test_events_are_listed_twice_by_name_pattern_and_action() -> None:
    code = HEAD.replace("shopify", "github")
    for listed, expected in {
        "[orders/paid, orders/paid]": ["'orders/paid' is listed twice"],
        "[orders/p*, orders/*]": ["'orders/p*' is part of 'orders/*', which is in the list too"],
        "[orders/*, '*/paid']": [],
        "[orders/paid, orders/create]": [],
    }.items():
        assert [m for _, _, m in findings(rules(rule(events=listed)))] == expected, listed
    listed = "[workflow_run.completed, workflow_run]"
    assert codes(rules(rule(events=listed)), code) == ["listed-twice"]
    assert codes(rules(rule(events="[push, workflow_run.completed]")), code) == []


def test_endpoints_are_listed_twice_by_name_and_all() -> None:
    for listed, expected in {"[shop, shop]": 1, "[all, shop]": 1, "[shop]": 0, "all": 0}.items():
        text = rule().replace("from: shop", f"from: {listed}")
        assert codes(rules(text)) == ["listed-twice"] * expected, listed
