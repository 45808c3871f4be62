"""The trial's ledger keeps the promises of the Store protocol that intake relies on."""

from router.rehearsal.clock import START_MS, VirtualClock
from router.rehearsal.ledger import TrialStore
from router.store.protocol import Acceptance, Accepted, Duplicate, EventEntry
from tests.sim.makers import a_delivery, a_new_job


def acceptance(name: str, *keys: str, until: int = START_MS + 1_000) -> Acceptance:
    events = tuple(
        EventEntry(i, f"evt_{name}{i}", "e", None, (key.encode(),) if key else (), until)
        for i, key in enumerate(keys)
    )
    jobs = tuple(a_new_job(f"job_{name}{i}", event_index=i) for i in range(len(keys)))
    return Acceptance(a_delivery(name), events, jobs)


async def test_a_known_key_is_a_duplicate_and_makes_no_job() -> None:
    ledger = TrialStore(VirtualClock())
    assert await ledger.accept(acceptance("a", "k")) == Accepted("a")
    assert await ledger.accept(acceptance("b", "k")) == Duplicate("a")
    assert list(ledger.jobs) == ["job_a0"]


async def test_only_new_events_of_a_batch_make_jobs() -> None:
    ledger = TrialStore(VirtualClock())
    await ledger.accept(acceptance("a", "k"))
    assert await ledger.accept(acceptance("b", "k", "l")) == Accepted("b", frozenset({1}))
    assert list(ledger.jobs) == ["job_a0", "job_b1"]


async def test_a_key_is_forgotten_when_its_window_ends() -> None:
    clock = VirtualClock()
    ledger = TrialStore(clock)
    await ledger.accept(acceptance("a", "k"))
    await clock.sleep(1)
    assert await ledger.accept(acceptance("b", "k")) == Accepted("b")


async def test_events_without_a_key_are_always_new() -> None:
    ledger = TrialStore(VirtualClock())
    assert await ledger.accept(acceptance("a", "")) == Accepted("a")
    assert await ledger.accept(acceptance("b", "")) == Accepted("b")


def test_time_never_goes_back() -> None:
    clock = VirtualClock()
    clock.jump(START_MS + 2_000)
    clock.jump(START_MS)
    assert (clock.now(), clock.monotonic()) == (START_MS + 2_000, 2.0)
