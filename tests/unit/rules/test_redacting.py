"""What is taken out of a delivery, and which keys would hold it."""

import hashlib
import json
import random

import msgspec
import pytest

from router.expressions import compile as compiled
from router.model.delivery import BLANKED, REDACTED, Redaction
from router.model.ids import Ids
from router.model.job import Attempt, Group
from router.model.settings import OWN, OWN_ENDPOINT, Dedupe, Endpoint
from router.providers import builtin, own
from router.rules.live import LiveRuleset, SecretValues
from router.rules.own_events import death
from router.rules.redacting import Hidden, is_redacted, lost, reads, taken_out
from router.rules.ruleset import Ruleset
from router.rules.specs import Concurrency
from tests.builders import NOW, a_delivery, a_job, a_redact, a_rule, a_ruleset

BODY = b'{"id": 7, "email": "anna@x.de", "total": 1}'


def test_the_delivery_says_what_was_taken_out_and_what_its_body_was() -> None:
    delivery = a_delivery(body=BODY, flags=("no_id",))
    taken = taken_out(delivery, a_redact("payload.email"), builtin()["shopify"], NOW + 5)
    assert taken.delivery == msgspec.structs.replace(
        delivery,
        body=BODY.replace(b"anna@x.de", b"[redacted]"),
        flags=("no_id", REDACTED),
        redacted=Redaction(NOW + 5, hashlib.sha256(BODY).hexdigest(), ("payload.email",)),
    )
    assert taken.values == {"anna@x.de"}


def test_what_was_taken_out_before_is_still_said() -> None:
    first = taken_out(
        a_delivery(body=BODY), a_redact("payload.email"), builtin()["shopify"], NOW
    ).delivery
    again = a_redact("payload.total", "payload.email")
    assert not is_redacted(first, again)
    second = taken_out(first, again, builtin()["shopify"], NOW + 9).delivery
    assert second.redacted == Redaction(
        NOW + 9, hashlib.sha256(BODY).hexdigest(), ("payload.email", "payload.total")
    )
    assert second.flags == (REDACTED,)
    assert is_redacted(second, again)


def test_an_unparsed_body_goes_whole() -> None:
    delivery = a_delivery(body=b'{"email": "anna', state="unparsed")
    taken = taken_out(delivery, a_redact("payload.email"), builtin()["shopify"], NOW)
    assert taken.delivery.body == b"[redacted]"
    assert taken.delivery.flags == (REDACTED, BLANKED)
    assert taken.delivery.redacted is not None
    assert taken.delivery.redacted.paths == ("payload.email", "payload")


def test_a_definition_reads_what_its_expression_reads() -> None:
    defines = {
        "mail": compiled("payload.email"),
        "both": compiled("def.mail == def.both"),
    }
    read = reads(compiled("def.both && payload.id > 3").tree, defines)
    assert read == {("payload", "email"), ("payload", "id")}
    assert lost(a_redact("payload.email").paths, read) == [("payload", "email")]


def ruleset(*fields: str, group: str = "payload.id", **given: object) -> Ruleset:
    concurrency = Concurrency(compiled(group), Group(1))
    shop = Endpoint("shop", "shopify", ("/wh_x",), redact=a_redact(*fields), **given)  # type: ignore[arg-type]
    other = Endpoint("other", "shopify", ("/wh_y",))
    keys = {} if shop.dedupe.key is None else {"shop": compiled(shop.dedupe.key)}
    return a_ruleset(
        a_rule("grouped", concurrency=concurrency, sources=None),
        endpoints={"shop": shop, "other": other},
        dedupe_keys=keys,
    )


@pytest.mark.parametrize(
    ("field", "group", "hidden"),
    [
        ("payload.email", "payload.email", True),
        ("payload.customer.email", "payload.customer", True),
        ("payload.customer", "payload.customer.id", True),
        ("payload.customer.email", "payload.customer.id", False),
    ],
)
def test_a_group_whose_value_may_hold_it_is_known_by_its_digest(
    field: str, group: str, hidden: bool
) -> None:
    found = LiveRuleset(ruleset(field, group=group), SecretValues({}, {})).hidden
    assert found.groups == (frozenset({("shop", "grouped")}) if hidden else frozenset())


@pytest.mark.parametrize(
    ("field", "dedupe", "hidden"),
    [
        ("payload.email", Dedupe("key", "payload.email"), True),
        ("payload.email", Dedupe("key", "payload.id"), False),
        ("payload.email", Dedupe("body"), False),
        ("payload.id", Dedupe(), False),
    ],
)
def test_a_dedupe_key_that_may_hold_it_is_known_by_its_digest(
    field: str, dedupe: Dedupe, hidden: bool
) -> None:
    assert bool(Hidden(ruleset(field, dedupe=dedupe)).keys) is hidden


def test_an_id_that_is_a_field_of_the_body_is_hidden_with_it() -> None:
    mail = Endpoint("mail", "sendgrid", ("/wh_m",), redact=a_redact("payload.sg_event_id"))
    assert Hidden(a_ruleset(endpoints={"mail": mail})).keys == {"mail"}


def test_what_is_told_of_its_dead_jobs_repeats_no_output() -> None:
    given = {**ruleset("payload.email").endpoints, OWN: OWN_ENDPOINT}
    rules = a_ruleset(
        a_rule("tell", sources=(OWN,)), endpoints=given, providers={**builtin(), OWN: own()}
    )
    live = LiveRuleset(rules, SecretValues({}, {}))
    result = {"stdout": "anna@x.de", "exit": 3}
    attempt = Attempt("job_1", 1, NOW, NOW, "dead", "ValueError: anna@x.de", result, "g")
    for endpoint, told in (("shop", False), ("other", True)):
        job = a_job(endpoint=endpoint, kind="shell")
        planned = death(live, Ids(random.Random(1)), job, attempt, str, NOW)
        assert planned is not None
        payload = json.loads(planned[0].body)
        assert payload["last"]["exit"] == 3
        assert ("anna@x.de" in planned[0].body.decode()) is told
        assert told or (payload["last"]["text"], payload["reason"]) == (None, "ValueError")
