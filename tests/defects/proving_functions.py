"""Defects of functions that prove requests."""

from tests.defects.defect import Edit, defect

_PROOFS, _FUNCTIONS = "router/actions/proofs.py", "router/providers/functions.py"
_SUITE = "conformance/test_function_proofs.py"

PROVING_FUNCTIONS = (
    defect(
        210,
        "whatever a function returns that is true proves a request",
        Edit(_PROOFS, "value if isinstance(value, bool) else ", "True if value else "),
        f"{_SUITE}::test_whatever_it_does_is_no_proof_and_the_next_is_asked",
    ),
    defect(
        211,
        "a function that said nothing has proved the request",
        Edit(_FUNCTIONS, "if answer is True:", "if answer is not False:"),
        "unit/providers/test_functions.py::test_nothing_but_true_is_genuine",
    ),
    defect(
        212,
        "a slow function delays all others",
        Edit(_PROOFS, "self._turns[wanted.function]", 'self._turns[""]'),
        f"{_SUITE}::test_a_slow_function_delays_no_other",
    ),
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
        "unit/operator/test_times.py::test_records_by_name_are_read_back_too",
    ),
)
