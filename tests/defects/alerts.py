"""Defects of what the router tells of itself: too much, too little, or again and again."""

from tests.defects.defect import Edit, defect

_DEATHS = "router/serving/death_alerts.py"
_DEAD = "conformance/test_jobs_dead.py::test"
_CONDITIONS = "unit/serving/test_conditions.py::test"

ALERTS = (
    defect(
        237,
        "an alert that cannot be delivered makes the next one",
        Edit(
            _DEATHS,
            "count - own.count, 0 if last_at == own.last_at else last_at",
            "count, last_at",
        ),
        f"{_DEAD}_deaths_about_our_own_events_are_no_news",
    ),
    defect(
        238,
        "what the store could not take counts as told",
        Edit(
            _DEATHS,
            '        dead = await self._dead(told["counts"])\n',
            '        self._seen = number, now\n        dead = await self._dead(told["counts"])\n',
        ),
        f"{_DEAD}_what_a_store_could_not_take_is_sent_with_the_next_look",
    ),
    defect(
        239,
        "a job that was revived and died again is no news",
        Edit(_DEATHS, "int(one.last_at > last_at)", "0"),
        f"{_DEAD}_a_revived_job_that_dies_again_is_told_again",
    ),
    defect(
        240,
        "what a rule erred on before the router started counts as lately",
        Edit(
            "router/serving/conditions.py",
            "                self._lately.begin(rule, counts)\n",
            "                pass\n",
        ),
        f"{_CONDITIONS}_a_rule_that_errs_is_told_once_an_hour_at_most",
    ),
)
