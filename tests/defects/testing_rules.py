"""Defects of what `test` says of rules: mutants, snapshots, replies, cases."""

from tests.defects.defect import Edit, defect

_MUTATION = "unit/rehearsal/test_mutation.py"

TESTING_RULES = (
    defect(
        226,
        "a change that no test noticed counts for the score",
        Edit(
            "router/rehearsal/mutation.py",
            "sum(one.noticed_by is not None for one in self.tried)",
            "sum(one.mutant is not None for one in self.tried)",
        ),
        f"{_MUTATION}::test_without_tests_nothing_is_noticed",
    ),
    defect(
        227,
        "tests that fail without any change notice every one",
        Edit(
            "router/rehearsal/mutation.py",
            "if failing := tuple(r.trial.name for r in results if r.failures):",
            "if failing := tuple[str, ...]():",
        ),
        f"{_MUTATION}::test_tests_that_fail_as_it_is_are_named_and_nothing_is_tried",
    ),
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
