"""Defects of what is counted by spans of time, and of what is said to need attention."""

from tests.defects.defect import Edit, defect

COUNTING = (
    defect(
        241,
        "what a store could not take is not written with the next",
        Edit(
            "router/serving/counters.py",
            "                        self._written[key] = old\n",
            "                        pass\n",
        ),
        "unit/serving/test_counters.py::test_what_could_not_be_written_goes_with_the_next",
    ),
    defect(
        242,
        "the longest of a span is that which was written last",
        Edit(
            "router/store/common/activity.py",
            "CASE WHEN kept.most > excluded.most THEN kept.most ELSE excluded.most END",
            "excluded.most",
        ),
        "conformance/test_activity.py::test_what_is_counted_of_the_same_adds_up",
    ),
    defect(
        243,
        "endpoints that refuse much are looked for among those alone that are shown",
        Edit(
            "router/operator/overview.py",
            'sorted({*self._activity.names("refusal"), *self._silent})',
            "self.busiest()",
        ),
        "unit/operator/test_overview.py::test_trouble_is_found_beyond_the_places_that_are_shown",
    ),
)
