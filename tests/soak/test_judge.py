"""What is lost, and what is done twice, is found; what a death explains is not."""

from tests.soak.deliveries import SHARES, Parcel
from tests.soak.judge import KEPT_S, Expected


def expected() -> Expected:
    found = Expected(slow_s=4)
    found.accepted(["code/1", "shell/1"], at=10)
    return found


def test_what_is_done_once_is_well() -> None:
    one = expected()
    one.did("code/1", "job_a", 10, 11)
    one.did("shell/1", "job_b", 10, 11)
    assert (one.open, one.done, one.problems, one.lost()) == (0, 2, [], [])


def test_it_may_be_done_before_its_sender_hears_of_it() -> None:
    one = Expected(slow_s=4)
    one.did("code/1", "job_a", 10, 11)
    one.accepted(["code/1"], at=12)
    assert one.open == 0


def test_what_is_never_done_is_lost() -> None:
    one = expected()
    one.did("code/1", "job_a", 10, 11)
    assert one.lost(before=10) == []
    assert one.lost(before=11) == ["never done: shell/1"]


def test_two_jobs_of_one_delivery_are_found() -> None:
    one = expected()
    one.deaths.append(11)
    one.did("code/1", "job_a", 10, 10.5)
    one.did("code/1", "job_b", 12, 12.5)
    assert one.problems == ["code/1 was done by two jobs, job_a and job_b"]


def test_one_job_may_do_it_again_after_a_death_alone() -> None:
    one = expected()
    one.did("code/1", "job_a", 10, 10.5)
    one.did("code/1", "job_a", 12, 12.5)
    assert one.problems == ["code/1 was done twice by job_a, 2.0 s on"]
    one.deaths.append(13)
    one.did("code/1", "job_a", 14, 14.5)
    assert (len(one.problems), one.again) == (1, 1)


def test_a_call_that_the_router_gave_up_may_be_made_again() -> None:
    one = expected()
    one.did("code/1", "job_a", 10, 15)
    one.did("code/1", "job_a", 16, 16.5)
    assert one.problems == []


def test_what_is_done_again_long_after_is_found() -> None:
    one = expected()
    one.did("code/1", "job_a", 10, 11)
    one.forget(now=12 + KEPT_S)
    one.deaths.append(13 + KEPT_S)
    one.did("code/1", "job_a", 14 + KEPT_S, 15 + KEPT_S)
    assert one.problems == ["done again long after: code/1"]


def test_a_number_says_what_is_sent_and_wanted() -> None:
    """Of a thousand each kind is there; only genuine ones with a rule want something done."""
    parcels = [Parcel(number) for number in range(1_000)]
    assert {one.kind for one in parcels} == set(SHARES)
    assert [one.kind for one in parcels] == [Parcel(one.number).kind for one in parcels]
    wanted = [name for one in parcels for name in one.wanted]
    assert len(set(wanted)) == len(wanted)
    assert {name.partition("/")[0] for name in wanted} == {
        "code", "shop", "mail", "python", "then", "shell",
    }  # fmt: skip
    assert {one.kind for one in parcels if not one.wanted} == {"gone", "unmatched", "forged"}
