"""Defects of erasing: somebody is still there, or somebody else is gone."""

from tests.defects.defect import Edit, defect

_STORE = "conformance/test_erasing.py::test"

ERASING = (
    defect(
        265,
        "the journal is taken for emptied though somebody reads it",
        Edit("router/store/sqlite/writer.py", "journal &= bool(busy)", "journal = False"),
        "unit/store/test_vacuum.py::test_who_reads_the_store_holds_it_up_and_nobody_else",
    ),
    defect(
        266,
        "what has open jobs is erased",
        Edit(
            "router/store/sqlite/erasing.py", "        if is_open:\n", "        if is_open > 1:\n"
        ),
        f"{_STORE}_what_has_open_jobs_is_left_and_told",
    ),
    defect(
        267,
        "a batch goes whole with one of its events",
        Edit(
            "router/operator/erasing.py",
            "any(one.index not in gone for one in entries)",
            "all(one.index not in gone for one in entries)",
        ),
        "unit/operator/test_erasing.py::"
        "test_who_is_erased_is_in_no_row_and_the_others_are_as_they_were",
    ),
    defect(
        268,
        "two that go on with it both count",
        Edit("router/store/common/erasing.py", "type=Erasure) == before", "type=Erasure) != 0"),
        f"{_STORE}_of_two_that_go_on_with_it_one_counts",
    ),
    defect(
        269,
        "what the router told of a job that died meanwhile stays",
        Edit("router/operator/erasing.py", "told() if died else ()", "told() if not died else ()"),
        "unit/operator/test_erasing.py::"
        "test_what_the_router_told_of_it_goes_too_also_of_a_job_that_dies_meanwhile",
    ),
    defect(
        271,
        "the journal of a vacuum counts as size, and history is removed to make room",
        Edit(
            "router/store/sqlite/reader.py",
            "return await self.ask(reading.held_bytes)",
            'return await self.ask(reading.held_bytes) + Path(f"{self._path}-wal").stat().st_size',
        ),
        "unit/store/test_vacuum.py::test_a_vacuum_that_somebody_reads_beside_does_not_count_twice",
    ),
    defect(
        272,
        "a lease that cannot read a delivery is tried again for ever",
        Edit(
            "router/store/sqlite/damage.py",
            '        raise damaged("jobs or deliveries", "?", error) from error\n',
            "        raise\n",
        ),
        "unit/store/test_damage.py::test_a_lease_by_kinds_ends_at_what_cannot_be_read",
    ),
    defect(
        273,
        "a rewrite of the file that has no room for a temporary one ends the router",
        Edit(
            "router/store/sqlite/writer.py",
            "if is_damage(error) or error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:",
            "if not _is_passing(error):",
        ),
        "unit/store/test_vacuum.py::"
        "test_a_vacuum_without_a_temporary_file_is_told_and_the_store_serves_on",
    ),
)
