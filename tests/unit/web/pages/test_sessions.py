"""Sessions: bounded, ending, and nothing of them to be read."""

import hashlib
from itertools import count

from router.web.pages.sessions import ID_BYTES, KEPT, LASTS_S, Sessions, is_ours
from tests.clocks import ManualClock


def sessions(clock: ManualClock | None = None) -> Sessions:
    numbers = count()
    return Sessions(
        clock=clock or ManualClock(),
        random=lambda size: hashlib.sha256(b"%d" % next(numbers)).digest()[:size],
    )


def test_one_more_than_are_kept_ends_the_oldest_of_whoever_has_the_most() -> None:
    """Who logs in again and again ends nobody else's sessions (attack F12)."""
    kept = sessions()
    admin = kept.begin(b"admin")
    ids = [kept.begin(b"viewer") for _ in range(KEPT)]
    assert len(kept) == KEPT
    assert kept.of(admin) is not None
    assert kept.of(ids[0]) is None
    assert all(kept.of(one) for one in ids[1:])


async def test_it_ends_with_its_time_and_is_then_forgotten() -> None:
    clock = ManualClock()
    kept = sessions(clock)
    one = kept.begin(b"token")
    await clock.advance(LASTS_S - 0.001)
    assert kept.of(one) is not None
    await clock.advance(0.001)
    assert kept.of(one) is None
    assert len(kept) == 0
    kept.begin(b"token")
    await clock.advance(LASTS_S)
    kept.begin(b"another")
    assert len(kept) == 1


def test_neither_id_nor_token_shows_when_printed() -> None:
    kept = sessions()
    one = kept.begin(b"a-token-that-nobody-sees")
    session = kept.of(one)
    assert "a-token" not in repr(session)
    assert one not in repr(vars(kept))


def test_forms_differ_from_session_to_session_and_are_not_the_id() -> None:
    kept = sessions()
    ids = [kept.begin(b"t") for _ in range(3)]
    forms = [found.form for one in ids if (found := kept.of(one))]
    assert len({*forms, *ids, kept.form}) == 7
    assert is_ours(forms[0], forms[0])
    assert not is_ours(forms[0], forms[1])
    assert not is_ours("", forms[0])
    assert not is_ours("ä", forms[0])


def test_nobody_is_no_session() -> None:
    kept = sessions()
    for one in (None, "", "0" * 64, "ä"):
        assert kept.of(one) is None
        kept.end(one)


def test_how_many_and_how_long() -> None:
    assert (KEPT, LASTS_S, ID_BYTES) == (200, 12 * 3600, 32)
    assert len(sessions().begin(b"t")) == 64


def test_a_session_that_was_ended_is_none() -> None:
    kept = sessions()
    one, other = kept.begin(b"a"), kept.begin(b"b")
    kept.end(one)
    assert kept.of(one) is None
    found = kept.of(other)
    assert found is not None
    assert found.token == b"b"
