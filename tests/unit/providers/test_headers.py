"""Headers by part: spellings, repeats, contradictions."""

from router.providers.headers import Ambiguous, Spellings

PARTS = Spellings([("X-Event", "X-Other-Event"), "X-Id", ()])


def test_either_spelling_is_the_same_part() -> None:
    assert PARTS.collect([(b"x-event", b"a")]) == {b"x-event": b"a"}
    assert PARTS.collect([(b"x-other-event", b"a")]) == {b"x-event": b"a"}


def test_headers_of_no_part_may_repeat() -> None:
    assert PARTS.collect([(b"accept", b"a"), (b"accept", b"b")]) == {}


def test_one_value_twice_is_one_value() -> None:
    assert PARTS.collect([(b"x-id", b"7"), (b"x-id", b"7")]) == {b"x-id": b"7"}


def test_two_values_are_ambiguous_in_one_spelling_or_two() -> None:
    assert PARTS.collect([(b"x-id", b"7"), (b"x-id", b"8")]) == Ambiguous("x-id")
    both = [(b"x-event", b"a"), (b"x-other-event", b"b")]
    assert PARTS.collect(both) == Ambiguous("x-event")
    assert PARTS.collect(both[::-1]) == Ambiguous("x-event")


def test_an_empty_value_is_a_value() -> None:
    assert PARTS.collect([(b"x-id", b""), (b"x-id", b"8")]) == Ambiguous("x-id")


def test_first_takes_the_first() -> None:
    assert PARTS.first([(b"x-id", b"7"), (b"x-id", b"8"), (b"a", b"b")]) == {b"x-id": b"7"}


def test_parts_are_known_by_their_first_spelling() -> None:
    assert PARTS.part(("X-Other-Event",)) == b"x-event"
    assert PARTS.part(()) is None
