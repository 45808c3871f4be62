"""Defects of jobs whose rules a node does not have."""

from tests.defects.defect import Edit, defect

_OTHERS = "unit/dispatch/test_other_rules.py::test"

OTHER_RULES = (
    defect(
        139,
        "a job of a rule that cannot be had here begins all the same",
        Edit(
            "router/dispatch/dispatcher.py",
            " and self._runner.can_run(job)\n",
            "\n",
        ),
        f"{_OTHERS}_a_job_of_a_rule_that_cannot_be_had_is_left_to_others",
    ),
    defect(
        140,
        "jobs of a node that is gone are reclaimed before their rules are known",
        Edit(
            "router/dispatch/sweeper.py",
            "        if lost and self._live.others is not None:",
            "        if False and lost and self._live.others is not None:",
        ),
        f"{_OTHERS}_before_jobs_of_a_node_that_is_gone_are_reclaimed_their_rules_are_fetched",
    ),
    defect(
        141,
        "what was fetched before a reload keeps the secrets of that time",
        Edit("router/rules/live.py", "        self._fresh.clear()\n", ""),
        "unit/wiring/test_fetching.py::"
        "test_after_a_reload_it_is_fetched_again_and_what_runs_goes_on",
    ),
)
