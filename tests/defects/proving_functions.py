"""Defects of what is fetched and read back."""

from tests.defects.defect import Edit, defect

PROVING_FUNCTIONS = (
    defect(
        213,
        "a key set of nonsense ends the loop that fetches",
        Edit(
            "router/providers/bearer.py",
            "_KINDS.get(kind) if isinstance(kind, str) else None",
            "_KINDS.get(kind)  # type: ignore[arg-type]",
        ),
        "properties/test_proved_elsewhere.py"
        "::test_any_authorization_and_any_key_set_give_one_verdict",
    ),
    defect(
        214,
        "a command cannot read how the server's fetches and recoveries went",
        Edit(
            "router/operator/times.py",
            "case dict() if get_origin(kind) is dict:",
            "case dict() if get_origin(kind) is list:",
        ),
        "unit/web/admin/test_there_and_back.py::test_an_answer_comes_back_as_it_was",
    ),
)
