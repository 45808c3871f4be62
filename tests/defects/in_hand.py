"""Defects of what waits in hand: jobs leased ahead of their slots, and who of them has begun."""

from tests.defects.defect import Edit, defect

REAL = "acceptance/test_killed_in_hand.py::"
KILLED = REAL + "test_a_kill_is_a_death_of_those_that_had_begun_not_of_those_in_hand"

IN_HAND = (
    defect(
        111,
        "who waited in hand when the router was killed has died",
        Edit(
            "router/store/sqlite/leasing.py",
            'f"deaths = deaths + (started_at IS NOT NULL) WHERE n {LISTED}"',
            'f"deaths = deaths + 1 WHERE n {LISTED}"',
        ),
        "conformance/test_leasing.py::test_what_never_began_has_not_died",
        "unit/store/test_recovering.py::test_a_job_that_had_not_begun_has_not_died",
        KILLED,
    ),
    defect(
        112,
        "who had begun when the router was killed is taken for one that waited",
        Edit(
            "router/store/sqlite/store.py",
            "        begun = self._marks.all()\n",
            "        begun = ()\n",
        ),
        "conformance/test_leasing.py::test_what_began_after_it_was_leased_ahead_has_died",
        "unit/store/test_begin_marks.py::test_another_life_knows_what_had_begun",
        KILLED,
    ),
    defect(
        113,
        "who begins does not tell the store",
        Edit(
            "router/dispatch/in_hand.py",
            "            if not self._said(job):\n                return None\n",
            "",
        ),
        "unit/dispatch/test_in_hand.py::test_what_cannot_be_told_the_store_does_not_begin",
        "sim/test_dispatch.py::test_processes_die_with_jobs_in_hand",
        KILLED,
    ),
    defect(
        114,
        "what a rule has in hand begins although the rule is paused",
        Edit(
            "router/dispatch/in_hand.py",
            " or not self._may_wait(ahead[0].work.job):",
            ":",
        ),
        "unit/dispatch/test_in_hand.py"
        "::test_of_a_rule_that_is_paused_nothing_begins_that_is_in_hand",
    ),
)
