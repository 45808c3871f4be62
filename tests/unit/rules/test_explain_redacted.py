"""What an explanation says of conditions that read what was taken out of the delivery since."""

import pytest

from router.cli.explain_text import rule_lines
from router.model.delivery import Redaction
from router.rules.explain import Explainer, RuleReading
from router.rules.scope import delivery_roots, event_scope
from router.rules.specs import CompiledRule
from tests.builders import a_delivery, a_rule, a_ruleset, an_event

MARK = Redaction(5, "ab" * 32, ("payload.email", "payload.items[].name"))
PAYLOAD = {"id": 1, "email": "[redacted]", "items": [{"name": "[redacted]", "n": 2}]}
DEFINES = {"mail": "payload.email"}


def explained(*rules: CompiledRule) -> dict[str, RuleReading]:
    ruleset = a_ruleset(*rules, defines=DEFINES)
    event, delivery = an_event(payload=PAYLOAD), a_delivery(redacted=MARK)
    scope = event_scope(delivery_roots(delivery, {}), delivery, event, ruleset.defines)
    found = Explainer(ruleset).explain("shop", event, scope, delivery.redacted)
    return {reading.rule.id: reading for reading in found}


@pytest.mark.parametrize(
    ("condition", "gone"),
    [
        ("payload.email == 'anna@x.de'", ("payload.email",)),
        ("payload.email != 'anna@x.de'", ("payload.email",)),
        ("def.mail == 'anna@x.de'", ("payload.email",)),
        ("contains(payload.items[].name, 'x')", ("payload.items[].name",)),
        ("payload.items[0].name == 'x' || payload.id == 2", ("payload.items[].name",)),
    ],
)
def test_of_what_is_no_longer_here_there_is_no_verdict(
    condition: str, gone: tuple[str, ...]
) -> None:
    found = explained(a_rule("r", condition))["r"]
    assert (found.status, found.gone, found.passed) == ("redacted", gone, None)
    text = "\n".join(rule_lines(found))
    assert f"UNKNOWN: decided on a value that is no longer here ({gone[0]})" in text
    assert "[redacted]" not in text


@pytest.mark.parametrize("condition", ["payload.id == 1", "payload.items[0].n == 2"])
def test_conditions_on_what_is_still_there_are_explained(condition: str) -> None:
    found = explained(a_rule("r", condition))["r"]
    assert (found.status, found.gone) == ("matched", ())


def test_a_rule_that_fails_for_another_reason_did_not_match() -> None:
    found = explained(a_rule("r", ("payload.email == 'x'", "payload.id == 2")))["r"]
    assert found.status == "not matched"
    assert [item.verdict is False for item in found.items] == [False, True]


def test_an_otherwise_rule_is_as_unsure_as_those_before_it() -> None:
    asked = a_rule("asked", "payload.email == 'x'", sources=("shop",))
    rest = a_rule("rest", otherwise=True, sources=("shop",))
    assert explained(asked, rest)["rest"].status == "redacted"
    certain = a_rule("certain", "payload.id == 2", sources=("shop",))
    assert explained(certain, rest)["rest"].status == "matched"
