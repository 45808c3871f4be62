"""Defects of what two routers do to runs of one PostgreSQL at the same time."""

from tests.defects.defect import Edit, defect

_RUNS = "router/store/postgres/runs.py"
_AT_ONCE = "unit/store/postgres/test_runs_at_once.py::test"

RUNS_AT_ONCE = (
    defect(
        124,
        "who ends runs does not lock their groups",
        Edit(_RUNS, " AND (SELECT count(*) FROM g) >= 0\n", "\n"),
        f"{_AT_ONCE}_a_run_comes_as_the_one_before_it_ends",
        f"{_AT_ONCE}_a_run_ends_as_the_one_after_it_comes",
    ),
    defect(
        125,
        "who ends a job does not lock its run",
        Edit(_RUNS, ">= 0\n    ORDER BY id FOR UPDATE\n", ">= 0\n"),
        f"{_AT_ONCE}_the_last_two_predecessors_of_a_job_end_at_once",
    ),
    defect(
        126,
        "groups are locked in any order",
        Edit(_RUNS, "$2::bigint[]) ORDER BY 1 ", "$2::bigint[]) "),
        f"{_AT_ONCE}_groups_are_locked_in_one_order",
    ),
    defect(
        127,
        "jobs of a run are changed though somebody leases them",
        Edit(_RUNS, "ORDER BY job FOR UPDATE\n", "ORDER BY job\n"),
        f"{_AT_ONCE}_a_job_is_not_leased_while_a_newer_run_supersedes_its_own",
        f"{_AT_ONCE}_a_run_is_not_superseded_while_its_job_is_leased",
    ),
    defect(
        128,
        "two replays of one job both make it",
        Edit("router/store/postgres/adding.py", "FOR NO KEY UPDATE OF d", "FOR KEY SHARE OF d"),
        "unit/store/postgres/test_adding.py::test_two_replays_of_one_job_at_once_make_it_once",
    ),
)
