"""`each`: the values of a table's rows stand where a test names them."""

import pytest

from router.config import load
from router.model.trial import Sending, Trial
from tests.rehearsing import HEAD, found, rehearse, said

TABLE = (
    HEAD
    + """\
  - id: paid
    from: shop
    match: payload.shipping_address.country_code != 'US'
    actions:
      - id: erp
        http: {url: "https://erp.example.net/{{ payload.name }}", json: {n: "{{ payload.id }}"}}
tests:
  - name: %s
    each: %s
    send: {endpoint: shop, event: orders/paid, set: %s}
    expect: %s
"""
)
NAMED = "{shipping_address.country_code: '{{ each.country }}'}"


def trials(text: str) -> tuple[Trial, ...]:
    loaded = load(text, path="rules.yaml", env={})
    assert loaded.diagnostics == ()
    return loaded.trials


def test_each_case_is_a_test_of_its_own() -> None:
    cases = "[{country: DE, matched: [paid]}, {country: US, matched: []}]"
    text = TABLE % ("an order", cases, NAMED, "{matched: '{{ each.matched }}'}")
    assert [t.name for t in trials(text)] == ["an order [country: DE]", "an order [country: US]"]
    assert said(text) == []
    lied = text.replace("US, matched: []", "US, matched: [paid]")
    passed, failed = rehearse(lied)
    assert (passed.failures, failed.failures[0]) == ((), "matched: expected [paid], got []")


def test_a_value_keeps_its_kind_and_texts_are_joined() -> None:
    cases = "{first: {id: 7, name: A, times: 1}, second: {id: 8, name: B, times: 1}}"
    text = TABLE % (
        "an order",
        cases,
        "{id: '{{ each.id }}', name: '{{ each.name }}'}",
        """{calls: {paid/erp: {times: '{{ each.times }}', json: {n: '{{each.id}}'},
          url: 'https://erp.example.net/{{ each.name }}'}}}""",
    )
    assert said(text) == []
    first, second = trials(text)
    assert (first.name, second.name) == ("an order [first]", "an order [second]")
    assert isinstance(first.sends[0], Sending)
    assert first.sends[0].set == (("id", 7), ("name", "A"))


def test_names_and_keys_may_be_named_too() -> None:
    cases = "\n      - {country: DE, rule: paid, action: erp}\n      - {country: FR, rule: paid, action: erp}"  # noqa: E501
    text = TABLE % (
        "'{{ each.country }} is handed over'",
        cases,
        NAMED,
        "{calls: {'{{ each.rule }}/{{ each.action }}': {times: 1}}}",
    )
    assert said(text) == []
    assert [(t.name, t.line) for t in trials(text)] == [
        ("DE is handed over", 15),
        ("FR is handed over", 16),
    ]


@pytest.mark.parametrize(
    ("cases", "set_", "complaint"),
    [
        ("[{country: DE}]", "{shipping_address.country_code: '{{ each.contry }}'}",
            ["unknown-name: no 'contry' in 'each' (did you mean 'country'?)"]),
        ("[{country: DE}, {contry: FR}]", NAMED,
            ["bad-case: this case has no 'country', which the test names (is 'contry' meant?)"]),
        ("[{country: DE, zip: 1}]", NAMED,
            ["bad-case: the test does not name 'zip' (write {{ each.zip }} where it belongs)"]),
        ("[]", NAMED, ["bad-case: 'each' is a list of cases, or a mapping of names and cases"]),
        ("[DE]", NAMED, None),
        ("[{country: DE}]", "{name: '{{ upper(each.country) }}'}", None),
        ("[{country: [DE]}]", "{name: 'a {{ each.country }}'}",
            ["bad-case: a list cannot stand within a text"]),
        ("[{country: DE}, {country: DE}]", NAMED,
            ["duplicate-test: two cases are called 't [country: DE]'"]),
        ("[{country: DE, x-about: usual}]", NAMED, []),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(cases: str, set_: str, complaint: list[str] | None) -> None:
    told = found(TABLE % ("t", cases, set_, "{status: 200}"))
    assert told if complaint is None else told == complaint


def test_there_is_an_end_to_cases() -> None:
    cases = ", ".join(f"{{country: C{number}}}" for number in range(1_001))
    assert found(TABLE % ("t", f"[{cases}]", NAMED, "{status: 200}")) == [
        "too-big: a test has at most 1000 cases"
    ]


def test_a_case_that_nobody_listed() -> None:
    text = TABLE.replace("    each: %s\n", "") % ("t", NAMED, "{status: 200}")
    assert found(text) == ["bad-case: this test has no 'each' (list its cases under 'each')"]
