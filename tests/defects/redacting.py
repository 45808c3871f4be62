"""Defects of redacting: something keeps, or still says, what was taken out."""

from tests.defects.defect import Edit, defect

_STORE = "router/store/sqlite/redacting.py"
_NO_FILE = "unit/serving/test_redaction.py::test_no_file_of_the_store_holds_it_any_more"
_INTAKE = "unit/intake/test_intake_redacted.py::test"

REDACTING = (
    defect(
        253,
        "pages that are freed keep what they held",
        Edit(_STORE, "PRAGMA secure_delete = ON", "PRAGMA secure_delete = FAST"),
        _NO_FILE,
    ),
    defect(
        254,
        "the journal keeps the pages of before",
        Edit(_STORE, "    book.stale_journal = True\n", "    book.stale_journal = False\n"),
        _NO_FILE,
    ),
    defect(
        255,
        "the first attempt sees what its retry does not",
        Edit(
            "router/intake/routing.py",
            "            delivery, plan = self._redacted(redact",
            "            delivery, _ = self._redacted(redact",
        ),
        f"{_INTAKE}_a_job_that_begins_at_once_sees_what_its_retry_will_see",
    ),
    defect(
        256,
        "what was opened again meanwhile is written anew",
        Edit(_STORE, "if is_open or jobs != one.jobs", "if jobs != one.jobs"),
        "conformance/test_redactions.py::test_what_was_revived_meanwhile_is_left_as_it_is",
    ),
    defect(
        291,
        "a body is stored as redacted without being read again",
        Edit(
            "router/providers/redaction.py",
            'if after.state == "routed" and found == expected and left <= {REDACTED_VALUE}:',
            "if found is not None:",
        ),
        "unit/providers/test_redaction.py::test_one_of_several_parts_and_what_is_told_of_a_file",
    ),
    defect(
        292,
        "a part keeps its value if its name is written as the reader does not read it",
        Edit(
            "router/providers/redaction.py",
            "if not all(part.name for part in parts):",
            "if not parts:",
        ),
        "unit/providers/test_redaction.py::"
        "test_a_body_that_its_reader_cannot_take_apart_goes_whole",
    ),
    defect(
        293,
        "a body that went whole does not say so",
        Edit("router/rules/redacting.py", "*([BLANKED] if whole else [])", ""),
        "unit/rules/test_redacting.py::test_an_unparsed_body_goes_whole",
    ),
    defect(
        294,
        "an event of a batch in a form is cut from the text of the form",
        Edit("router/operator/erasing.py", '.kind != "field":', '.kind != "":'),
        "acceptance/test_redact.py::"
        "test_of_a_batch_in_a_form_one_event_is_erased_whatever_its_letters",
    ),
)
