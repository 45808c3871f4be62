"""Who may wait how long when more comes than can be done."""

from router.web.load_shedding import BUSY_S, CALM_S, HOPELESS_S, STAYS_S, LoadShedder

T, A_LITTLE = 1000.0, 0.001


def test_a_burst_may_wait() -> None:
    patience = LoadShedder()
    assert not patience.spent(T, T)
    assert not patience.spent(T, T + CALM_S - A_LITTLE)


def test_who_waits_longer_is_refused_and_then_others_sooner() -> None:
    patience = LoadShedder()
    now = T + CALM_S + 0.01
    assert patience.spent(T, now)
    assert patience.spent(now - BUSY_S - 0.01, now)
    assert not patience.spent(now - BUSY_S + A_LITTLE, now)


def test_calm_returns_when_nobody_was_refused_for_a_while() -> None:
    patience = LoadShedder()
    now = T + CALM_S + 0.01
    assert patience.spent(T, now)
    later = now + STAYS_S
    assert patience.spent(later - 0.01 - BUSY_S - 0.1, later - 0.01)
    assert not patience.spent(later + STAYS_S - CALM_S + A_LITTLE, later + STAYS_S)


def test_a_long_wait_is_hopeless_only_while_others_are_refused() -> None:
    patience = LoadShedder()
    assert not patience.hopeless(10.0, T)
    assert not patience.busy(T)
    now = T + CALM_S + 0.01
    assert patience.spent(T, now)
    assert patience.busy(now)
    assert not patience.hopeless(HOPELESS_S, now)
    assert patience.hopeless(HOPELESS_S + A_LITTLE, now + STAYS_S - 0.1)
    assert patience.busy(now + STAYS_S)  # who is refused at once is a refusal as any other
    assert not patience.hopeless(10.0, now + 2 * STAYS_S)
