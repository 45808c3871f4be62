"""JMESPath's official suite against the value reading: every scored case, without exception."""

import json
from pathlib import Path
from typing import Any

import pytest

from router.errors import EvaluationError, ExpressionError
from router.expressions import compile as compiled
from router.expressions import decode_json
from router.expressions.compare import same

SUITE = Path(__file__).parents[2] / ".." / "shared" / "vectors" / "jmespath-compliance"
SCORED = 892

DEVIATIONS: dict[tuple[str, str], str] = {}
"""(file, expression) of every case we answer differently, and why. None is needed."""

Case = tuple[str, Any, dict[str, Any]]


def _cases() -> list[Case]:
    found = []
    for path in sorted(SUITE.glob("*.json")):
        for group in decode_json(path.read_bytes()):
            found += [(path.stem, group["given"], c) for c in group["cases"] if "bench" not in c]
    return found


def _verdict(given: Any, case: dict[str, Any]) -> str | None:
    """None, or what is wrong with our answer."""
    try:
        result = compiled(case["expression"]).search(given)
    except (ExpressionError, EvaluationError) as fault:
        return None if "error" in case else f"refused: {fault!r}"
    if "error" in case:
        return f"answered {result!r} instead of the error {case['error']}"
    return None if same(result, case["result"]) else f"{result!r} instead of {case['result']!r}"


@pytest.mark.skipif(not SUITE.is_dir(), reason="the published JMESPath suite is not beside us")
class TestSuite:
    def test_number_of_scored_cases(self) -> None:
        assert len(_cases()) == SCORED

    def test_every_case(self) -> None:
        wrong = [
            f"{name}: {case['expression']}: {fault}"
            for name, given, case in _cases()
            if (name, case["expression"]) not in DEVIATIONS
            and (fault := _verdict(given, case)) is not None
        ]
        assert wrong == []

    def test_with_binary_floats_too(self) -> None:
        """Python callers of search() bring floats; the answers are the same by value."""
        wrong = []
        for path in sorted(SUITE.glob("*.json")):
            for group in json.loads(path.read_text("utf-8")):
                for case in group["cases"]:
                    if "bench" not in case and (fault := _verdict(group["given"], case)):
                        wrong.append(f"{path.stem}: {case['expression']}: {fault}")
        assert wrong == []
