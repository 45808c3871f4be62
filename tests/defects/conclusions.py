"""Defects that lead to a wrong conclusion: keys without parts, lists, states, addresses, types."""

from tests.defects.defect import Edit, defect

CONCLUSIONS = (
    defect(
        340,
        "a dedupe key that lacks one of its parts is a key",
        Edit("router/expressions/verdict.py", "(VALUE, whole=True)", "(VALUE, whole=False)"),
        "docs/test_deviations.py::test_key_reading",
        "docs/test_concepts.py::test_what_a_page_shows_passes",
    ),
    defect(
        341,
        "a group is told to take turns although its definition lacks a part",
        Edit("router/expressions/definitions.py", "scope, keys=True)", "scope, keys=False)"),
        "docs/test_deviations.py::test_key_reading",
    ),
)
