"""Defects of what is read of a PostgreSQL that others write to."""

from tests.defects.defect import Edit, defect

_ORDER = "router/store/postgres/commit_order.py"
_SELECTION = "router/store/postgres/selection.py"
_FEED = "unit/store/postgres/test_feed.py::test"
_SELECTED = "unit/store/postgres/test_selection.py::test"

READING_OTHERS = (
    defect(
        135,
        "the feed tells of what has committed, though an earlier one is under way",
        Edit(_ORDER, " AND xid < $3 AND id", " AND $3::xid8 IS NOT NULL AND id"),
        f"{_FEED}_who_began_first_and_commits_last_is_not_missed",
        f"{_FEED}_a_time_is_before_what_is_under_way",
    ),
    defect(
        136,
        "the feed goes on from a place of another ledger as from its own",
        Edit(_ORDER, "place.ledger == ledger.id and ", ""),
        f"{_FEED}_a_place_of_another_ledger_or_of_the_future_is_found_by_its_time",
    ),
    defect(
        137,
        "a span leaves out what tells another time than its id does",
        Edit(_SELECTION, "lowest(since - DAY_MS)", "lowest(since)"),
        f"{_SELECTED}_a_span_selects_by_the_times_that_rows_tell",
    ),
    defect(
        138,
        "jobs are selected by cause by the texts that are stored",
        Edit(_SELECTION, "action, target, unescape(reason))", "action, target, reason)"),
        f"{_SELECTED}_dead_jobs_are_selected_by_cause",
    ),
)
