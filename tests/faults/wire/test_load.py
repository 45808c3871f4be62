"""Too much of everything, in short; each has a command in its module that goes on for longer."""

from pathlib import Path

import pytest

from tests.faults.wire import large, loris, overload, storm

pytestmark = pytest.mark.long

MIB = 1024 * 1024
QUICK = "  limits: {header_timeout: 2s, keep_alive: 2s}\n"
UNHURRIED = "  limits: {answer: 30s}\n"
"""The other tests have the machine and its disk meanwhile."""


def test_bad_sockets_do_not_keep_good_ones_out(tmp_path: Path) -> None:
    """Time limits are those of the long form; a shared machine's p99 is not judged here."""
    outcome = loris.run(tmp_path, loris.Load(sockets=300, seconds=5, server=QUICK))
    assert [p for p in outcome.problems if "p99" not in p] == []
    assert (outcome.held, outcome.not_200) == (300, 0)
    assert outcome.ended > 300


def test_large_bodies_at_once_stay_within_bounds(tmp_path: Path) -> None:
    outcome = large.run(tmp_path, 8, server=UNHURRIED, size=25 * MIB)
    assert outcome.problems == []
    assert outcome.taken + outcome.put_off == 8


def test_ten_times_too_much_is_refused_and_the_rest_is_served(tmp_path: Path) -> None:
    """Rates are judged by the long form, on a machine that does nothing else."""
    outcome = overload.run(tmp_path, 2)
    assert outcome.flood.refused
    assert outcome.flood.good
    assert outcome.wrong == []


def test_a_storm_of_copies_is_one_delivery(tmp_path: Path) -> None:
    outcome = storm.run(tmp_path, 3_000)
    assert outcome.problems == []
    assert outcome.answers["accepted"] == 1
