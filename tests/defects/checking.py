"""Defects of what `check` says of a rules file, and of what it does once for many rules."""

from tests.defects.defect import Edit, defect

_FIXING = "unit/config/test_fixing.py"

CHECKING = (
    defect(
        215,
        "a text that is longer than that of the first does not move where it ends",
        Edit(
            "router/expressions/similar.py",
            "end + shifts[bisect_left(starts, end)],",
            "end + shifts[before],",
        ),
        "unit/expressions/test_similar.py::test_the_second_is_what_it_would_be_by_itself",
    ),
    defect(
        216,
        "a text is as right as another although types tell the two apart",
        Edit(
            "router/config/alike.py",
            "listed = kind.texts is not None or kind.known or",
            "listed = kind.known or",
        ),
        "unit/config/test_alike.py::test_which_texts_may_differ",
    ),
    defect(
        217,
        "a text is as right as another although the rule reads its field elsewhere too",
        Edit("router/config/alike.py", "return len(near) == 1", "return len(near) >= 1"),
        "unit/config/test_alike.py::test_which_texts_may_differ",
        "unit/config/test_alike.py::test_a_text_that_something_else_reads_may_not_differ",
        "unit/config/test_alike.py::test_what_is_said_of_the_second_is_what_is_said_of_it_alone",
    ),
    defect(
        218,
        "a number that is at most another is held to be less",
        Edit("router/typing/interval.py", "strict = len(sign) == 1", "strict = bool(sign)"),
        "unit/typing/test_logic.py::test_logic_that_decides_something_is_left_alone",
    ),
    defect(
        219,
        "a pattern may be as large as its repetitions make it",
        Edit(
            "router/expressions/regex.py",
            "return _TOO_LARGE if found.programsize > PROGRAM_MAX else None",
            "return None",
        ),
        "unit/expressions/test_regex.py::test_what_is_refused_stands_under_the_caret",
    ),
    defect(
        220,
        "a large pattern reads texts of any length",
        Edit("router/expressions/regex.py", "if len(encoded) > longest:", "if False:"),
        "unit/expressions/test_regex.py::test_a_large_pattern_reads_no_large_text",
    ),
    defect(
        221,
        "a field that may be null is not doubted in a header, since one may give it a fallback",
        Edit(
            "router/typing/walk.py",
            "if meant is not None and not _nullable(",
            "if meant is not None and _nullable(",
        ),
        "unit/config/test_nullable.py::test_a_template_that_must_not_be_null",
    ),
    defect(
        223,
        "an IPv6 address is in one's own network, for it has no dot",
        Edit(
            "router/egress.py",
            "return inner and literal_address(host) is None",
            "return inner",
        ),
        "unit/config/checks/test_calls.py::test_a_secret_goes_by_plain_http_only_where_it_is_near",
    ),
    defect(
        224,
        "an answer is written although the mistake is still there",
        Edit("router/config/fixing.py", "        if not wrong:\n", "        if True:\n"),
        f"{_FIXING}::test_an_answer_that_does_not_help_is_left_out_and_the_others_stay",
        f"{_FIXING}::test_beside_an_answer_that_does_not_help_in_one_line_the_other_is_written",
    ),
    defect(
        225,
        "of two answers for one place both are written",
        Edit(
            "router/config/fixing.py",
            "if d.fix is not None and tuple(begin) >= last:",
            "if d.fix is not None:",
        ),
        f"{_FIXING}"
        "::test_of_answers_that_overlap_the_first_is_written_before_the_second_is_looked_at",
    ),
    defect(
        360,
        "a field of a sender whose name is misspelt is a second mistake",
        Edit(
            "router/config/language.py",
            "self._written_providers() - self.context.providers.keys():",
            "not self.context.providers:",
        ),
        "golden/test_golden.py::test_a_wrong_file_is_answered_like_this",
    ),
    defect(
        335,
        "the effective file hands an action's parameters to nobody",
        Edit(
            "router/config/effective.py",
            "return shared.given is not None or any(",
            "return shared.given is not None and any(",
        ),
        "unit/cli/test_check.py::test_the_effective_file_has_all_files_and_no_value_of_any_secret",
    ),
    defect(
        336,
        "the effective file shows a secret that somebody wrote into the rules file",
        Edit("router/config/effective.py", "    value = without_secrets(value)\n", ""),
        "unit/cli/test_check.py::test_the_effective_file_has_all_files_and_no_value_of_any_secret",
    ),
)
