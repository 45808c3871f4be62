"""Defects of what `test` says of rules: snapshots, replies, cases."""

from tests.defects.defect import Edit, defect

TESTING_RULES = (
    defect(
        228,
        "a snapshot is written and never held to",
        Edit(
            "router/rehearsal/run.py",
            "elif not same(snapshot.sent, sent):",
            "elif not same(sent, sent):",
        ),
        "unit/cli/test_test_update.py::test_a_difference_fails_and_is_shown",
    ),
    defect(
        229,
        "a reply that nobody is given passes",
        Edit("router/rehearsal/assertions.py", "elif 0 < count < len(answers):", "elif count < 0:"),
        "unit/rehearsal/test_expectations.py::test_a_reply_that_nobody_is_given_fails_the_test",
    ),
    defect(
        230,
        "a number of a case is sent as a text",
        Edit(
            "router/config/cases.py",
            "            return case.values[whole[1]]\n",
            "            return self._joined(node, case)\n",
        ),
        "unit/config/test_cases.py::test_a_value_keeps_its_kind_and_texts_are_joined",
    ),
)
