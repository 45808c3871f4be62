"""Faults of the pages that say how it is now, and of the one that tries a condition."""

from tests.defects.defect import Edit, defect

PAGES_OF_NOW = (
    defect(
        245,
        "what check says of a tried condition stands where it stood in the rule",
        Edit("router/config/lone_rule.py", "column=d.column - indent", "column=d.column"),
        "unit/config/test_lone_rule.py::test_what_check_says_stands_in_the_condition_itself",
    ),
    defect(
        246,
        "the names of fields are quoted without escapes",
        Edit("router/web/pages/fields.py", "json.dumps(name)", "f'\"{name}\"'"),
        "unit/web/pages/test_fields.py::test_each_path_gives_its_value",
    ),
    defect(
        247,
        "every page counts the dead letters anew",
        Edit("router/web/pages/dead_letters.py", "self._ends_at = now + KEPT_S", "pass"),
        "unit/web/pages/test_dead_letters.py::test_it_is_asked_for_once_in_a_while",
    ),
)
