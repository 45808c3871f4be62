"""Defects of what a database that several routers share does with jobs and their time."""

from tests.defects.defect import Edit, defect

_STORE = "router/store/postgres"
_LEASING = "unit/store/postgres/test_leasing.py::test"
_MOVED = "unit/store/postgres/test_moved_tables.py::test"
_RETENTION = "conformance/test_retention.py::test"

SHARED_STORE = (
    defect(
        153,
        "whoever had a job once may end it in the database",
        Edit(f"{_STORE}/ends.py", "THEN true ELSE false END", "THEN true ELSE true END"),
        f"{_LEASING}_an_old_lease_settles_nothing",
        f"{_LEASING}_the_lease_of_another_job_settles_nothing",
    ),
    defect(
        154,
        "a due job is handed out though another router takes it at this moment",
        Edit(
            f"{_STORE}/leasing.py",
            "f\"FOR UPDATE SKIP LOCKED) {'replayed' if",
            "f\") {'replayed' if",
        ),
        f"{_LEASING}_what_another_holds_just_now_is_passed_over_and_asked_for_soon",
    ),
    defect(
        155,
        "the attempt of a job that has outlived its day lies in the day",
        Edit(
            f"{_STORE}/ends.py",
            "RETURNING e.*, jobs.kept AS kept",
            "RETURNING e.*, false AS kept",
        ),
        f"{_LEASING}_an_end_of_a_job_whose_delivery_is_of_another_day",
    ),
    defect(
        156,
        "retention removes deliveries from a database whose jobs are open",
        Edit(f"{_STORE}/finished.py", "SELECT judged.*, NOT is_open AND", "SELECT judged.*, "),
        f"{_RETENTION}_open_work_is_never_removed",
    ),
    defect(
        157,
        "dead jobs go from a database as soon as those that succeeded",
        Edit(f"{_STORE}/finished.py", "WHEN {DEAD} THEN {_DEAD}", "WHEN {DEAD} THEN {_SUCCEEDED}"),
        f"{_RETENTION}_the_longest_time_among_a_delivery_s_jobs_counts",
        f"{_RETENTION}_a_day_whose_time_is_over_leaves_what_must_stay",
    ),
    defect(
        158,
        "a copy of a ledger forgets a column",
        (
            Edit("router/store/moving/tables.py", "reason escaped?, result bytea", "result bytea"),
            Edit(
                "router/store/moving/source.py",
                "t.outcome, t.reason, t.result",
                "t.outcome, t.result",
            ),
        ),
        f"{_MOVED}_every_column_of_the_database_is_filled",
        f"{_MOVED}_every_column_of_the_file_is_read",
    ),
)
