"""What is told of several kinds of events."""

from router.expressions import compile as compiled
from router.typing.combine import WalkResult, combined
from router.typing.lattice import (
    ANY,
    TEXT,
    TEXT_TYPE,
    Type,
    closed_object,
    constant,
    open_object,
)
from router.typing.run import TypeFinding
from tests.verdict_bits import verdict_bits

ORDER = open_object({"total_price": Type(TEXT, format="money"), "name": TEXT_TYPE})
PRODUCT = open_object({"title": TEXT_TYPE, "handle": TEXT_TYPE})


def reported(text: str, *payloads: Type, guessed: bool = False) -> list[TypeFinding]:
    seen = []
    for number, payload in enumerate(payloads):
        roots = closed_object({"payload": payload, "event": constant(f"e{number}")}, label="roots")
        run = verdict_bits(compiled(text), roots)[1]
        seen.append(WalkResult(run, f"e{number}"))
    if guessed:
        roots = closed_object({"payload": ANY, "event": TEXT_TYPE}, label="roots")
        seen.append(WalkResult(verdict_bits(compiled(text), roots)[1], "any other", guessed=True))
    return combined(seen)


def test_what_holds_for_all_is_reported_as_it_is() -> None:
    (found,) = reported("payload.totl_price == 'x'", ORDER, ORDER)
    assert (found.code, found.severity) == ("misspelt-field", "error")


def test_a_sure_misspelling_of_one_kind_that_no_other_has_is_an_error() -> None:
    (found,) = reported("payload.totl_price == 'x'", ORDER, PRODUCT)
    assert (found.code, found.severity) == ("misspelt-field", "error")


def test_a_name_that_is_near_by_chance_is_none() -> None:
    (found,) = reported("payload.totem == 'x'", open_object({"token": TEXT_TYPE}), PRODUCT)
    assert (found.code, found.severity) == ("unknown-field", "warning")


def test_a_misspelling_in_some_is_a_warning_that_names_them() -> None:
    (found,) = reported("payload.totl_price == 'x'", ORDER, ANY)
    assert (found.code, found.severity) == ("unknown-field", "warning")
    assert found.message.endswith("(for e0)")


def test_a_field_that_one_kind_has_is_no_mistake_for_the_others() -> None:
    assert reported("payload.title == 'x'", ORDER, PRODUCT) == []


def test_where_nothing_is_known_a_wrong_type_is_a_warning() -> None:
    (found,) = reported("payload.total_price > 3", ORDER, ANY)
    assert (found.code, found.severity) == ("text-as-number", "warning")


def test_what_one_kind_cannot_reach_does_not_count() -> None:
    (found,) = reported("event == 'e0' && payload.totl_price == 'x'", ORDER, PRODUCT)
    assert (found.code, found.severity) == ("misspelt-field", "error")


def test_a_constant_must_be_one_for_every_event_even_for_those_in_no_catalogue() -> None:
    text = "event == 'other'"
    assert [f.code for f in reported(text, ORDER, PRODUCT)] == ["never-true"]
    assert reported(text, ORDER, PRODUCT, guessed=True) == []


def test_events_in_no_catalogue_hide_no_misspelling() -> None:
    (found,) = reported("payload.totl_price == 'x'", ORDER, guessed=True)
    assert (found.code, found.severity) == ("misspelt-field", "error")
