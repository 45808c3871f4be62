"""Defects of what is accepted into a PostgreSQL by several routers, or by one that loses it."""

from tests.defects.defect import Edit, defect

_AT_ONCE = "router/store/postgres/accepting_at_once.py"
_ACCEPTING = "router/store/postgres/accepting.py"
_UNKNOWN = "unit/store/postgres/test_unknown_outcomes.py"
_TOGETHER = "unit/store/postgres/test_accepting_together.py"

ACCEPTING_AT_ONCE = (
    defect(
        129,
        "what is repeated because nobody knows its outcome is a copy of itself",
        Edit(
            _AT_ONCE,
            'f"dlv_{id_}" for _, id_, _ in found}',
            'f"dlv_{id_}" for key, id_, _ in found if key is None}',
        ),
        f"{_UNKNOWN}::test_a_lost_connection_costs_nothing",
        f"{_UNKNOWN}::test_a_statement_that_goes_on_without_us_is_waited_for",
    ),
    defect(
        130,
        "a lost connection is an answer",
        Edit(_ACCEPTING, "or clock.monotonic() + PAUSE_S >= until:", "or until:"),
        f"{_UNKNOWN}::test_a_lost_connection_costs_nothing",
        f"{_UNKNOWN}::test_a_copy_that_was_quicker_than_what_is_lost_has_the_key",
    ),
    defect(
        131,
        "each router locks keys in the order in which they came to it",
        Edit(
            "router/store/postgres/delivery_rows.py",
            "columns(sorted(claims), len(KEY_TYPES))",
            "columns(list(claims), len(KEY_TYPES))",
        ),
        f"{_TOGETHER}::test_groups_that_overlap_in_opposite_orders_do_not_deadlock",
    ),
    defect(
        132,
        "in a PostgreSQL a dedupe key never ends",
        Edit(
            "router/store/postgres/delivery_rows.py",
            "WHERE keys.until <= $4",
            "WHERE keys.until < 0 AND $4::bigint > 0",
        ),
        "unit/store/postgres/test_accepting.py::test_an_expired_key_is_claimed_anew",
    ),
    defect(
        133,
        "one that a PostgreSQL refuses takes its group with it",
        Edit(_ACCEPTING, "        if len(group) == 1:\n", "        if group:\n"),
        "unit/store/postgres/test_accepting.py::test_what_cannot_be_stored_fails_alone",
    ),
    defect(
        134,
        "a PostgreSQL store is given copies at once, whichever came first",
        Edit(
            "router/store/postgres/store.py", "accepting.load, accepting.keys)", "accepting.load)"
        ),
        f"{_TOGETHER}::test_copies_at_one_router_are_judged_in_the_order_in_which_they_came",
    ),
)
