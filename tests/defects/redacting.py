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
            "            delivery, plan = self._redacted(redact, live, endpoint, delivery, plan)\n",
            "            delivery, _ = self._redacted(redact, live, endpoint, delivery, plan)\n",
        ),
        f"{_INTAKE}_a_job_that_begins_at_once_sees_what_its_retry_will_see",
    ),
    defect(
        256,
        "what was opened again meanwhile is written anew",
        Edit(_STORE, "if is_open or jobs != one.jobs", "if jobs != one.jobs"),
        "conformance/test_redactions.py::test_what_was_revived_meanwhile_is_left_as_it_is",
    ),
)
