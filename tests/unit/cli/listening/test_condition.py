"""`--where`: verdict reading over the roots of each event."""

import pytest

from router.cli.listening.condition import ListenCondition
from router.errors import UsageError
from router.expressions import compile as compiled
from router.operator.answers import EventRow
from router.providers import builtin
from tests.unit.cli.listening.conftest import Maker

BATCH = b'[{"event": "bounce", "email": "a@x.de"}, {"event": "open", "email": "b@x.de"}]'


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("payload.id == 7", True),
        ("decimal(payload.total_price) > 9", True),
        ("payload.id == 8", False),
        ("event == 'orders/paid' && endpoint == 'shop' && provider == 'shopify'", True),
        ("headers.\"x-shopify-webhook-id\" == '7'", True),
        ("query.a == '1'", False),
        ("delivery.count == 1", True),
        ("topic == 'orders/paid'", True),
        ("payload.country != 'US'", False),  # absent: an error is no match
    ],
)
def test_an_event_is_judged_as_a_rule_would(make: Maker, text: str, takes: bool) -> None:
    assert ListenCondition(text, builtin()).takes(make()) is takes


def test_errors_are_counted_and_reported(make: Maker) -> None:
    condition = ListenCondition("payload.country != 'US'", builtin())
    condition.takes(make())
    assert condition.failures == 1
    assert "country" in condition.failure


def test_one_event_of_a_batch_is_enough_but_not_one_known_before(make: Maker) -> None:
    given = {"provider": "sendgrid", "body": BATCH, "event_count": 2}
    condition = ListenCondition("payload.email == 'b@x.de'", builtin())
    both = (EventRow(0, "evt_1", "bounce"), EventRow(1, "evt_2", "open"))
    assert condition.takes(make(events=both, **given))
    assert not condition.takes(make(events=both[:1], **given))


def test_var_and_def_come_from_a_rules_file(make: Maker) -> None:
    with pytest.raises(UsageError, match="'var' here; name the rules file with -f"):
        ListenCondition("payload.id == var.main", builtin())
    condition = ListenCondition(
        "payload.id == var.main && def.large",
        builtin(),
        variables={"main": 7},
        defines={"large": compiled("decimal(payload.total_price) > 9")},
    )
    assert condition.takes(make())


def test_what_is_bound_needs_no_rules_file(make: Maker) -> None:
    assert ListenCondition("payload.id == var.id", builtin(), bound={"id": 7}).takes(make())
    with pytest.raises(UsageError, match="it reads id"):
        ListenCondition("payload.id == var.id", builtin(), bound={"id": 7, "ids": 7})


@pytest.mark.parametrize("text", ["payload.", "secret.shop == 'x'", "results.a", "1 +"])
def test_a_wrong_one_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--where"):
        ListenCondition(text, builtin())


def test_a_sender_that_only_the_router_knows(make: Maker) -> None:
    with pytest.raises(UsageError, match="name that file with -f"):
        ListenCondition("payload.id == 7", builtin()).takes(make(provider="ours"))
