"""docs/deviations.md says what is so: every row of its tables is run."""

import re
import warnings
from pathlib import Path
from typing import Any

import jmespath
import pytest
from jmespath.exceptions import JMESPathError, ParseError, UnknownFunctionError

from router.errors import EvaluationError, ExpressionError
from router.expressions import Definitions, Failed, decode_json, key_of
from router.expressions import compile as compiled
from router.expressions.compare import same

PAGE = Path(__file__).parents[2] / "docs" / "deviations.md"
WORDS = ("refused", "error", "crash", "other", "none")

Row = tuple[str, str, Any, str, str]


def _rows(part: int) -> list[Row]:
    text = re.split("## The (?:verdict|key) reading", PAGE.read_text("utf-8"))[part]
    rows = []
    for line in text.splitlines():
        cells = [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[1] != "expression" and not cells[0].startswith("---"):
            about, expression, given, first, second = cells
            rows.append(
                (about, _code(expression), decode_json(_code(given).encode()), first, second)
            )
    return rows


def _code(cell: str) -> str:
    return cell[2:-2].strip() if cell.startswith("``") else cell.strip("`")


def _plain(text: str, given: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return jmespath.search(text, _floats(given))
    except UnknownFunctionError:
        return "error"
    except ParseError as fault:
        return "error" if "rgument" in str(fault) else "refused"
    except JMESPathError:
        return "error"
    except (TypeError, ValueError):
        return "crash"


def _floats(value: Any) -> Any:
    """The document as a Python program would hand it to the reference."""
    if isinstance(value, list):
        return [_floats(item) for item in value]
    if isinstance(value, dict):
        return {name: _floats(item) for name, item in value.items()}
    return value if value is None or isinstance(value, str | bool | int) else float(value)


def _ours(text: str, given: Any) -> Any:
    try:
        return compiled(text).search(given)
    except ExpressionError:
        return "refused"
    except EvaluationError:
        return "error"


def _verdict(text: str, given: Any) -> Any:
    verdict = compiled(text).verdict(given)
    return "error" if isinstance(verdict, Failed) else verdict


def _agrees(found: Any, cell: str) -> bool:
    if cell == "other":
        return found not in WORDS
    return found == cell if cell in WORDS else same(found, decode_json(_code(cell).encode()))


@pytest.mark.parametrize("row", _rows(0), ids=lambda row: row[1])
def test_value_reading(row: Row) -> None:
    _, text, given, plain, ours = row
    assert _agrees(_plain(text, given), plain), _plain(text, given)
    assert _agrees(_ours(text, given), ours), _ours(text, given)


@pytest.mark.parametrize("row", _rows(1), ids=lambda row: row[1])
def test_verdict_reading(row: Row) -> None:
    _, text, given, value, verdict = row
    assert _agrees(_ours(text, given), value), _ours(text, given)
    assert _agrees(_verdict(text, given), verdict), _verdict(text, given)


@pytest.mark.parametrize("through", ["{}", "def.it"])
@pytest.mark.parametrize("row", _rows(2), ids=lambda row: row[1])
def test_key_reading(row: Row, through: str) -> None:
    """Also where a definition gives it."""
    _, text, given, value, key = row
    scope = {**given}
    scope["def"] = Definitions({"it": compiled(text)}, scope)
    found = key_of(compiled(through.format(text)), scope)
    assert _agrees(_ours(text, given), value), _ours(text, given)
    assert _agrees("none" if found is None else found, key), found


def test_no_row_is_lost() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert sum(len(_rows(part)) for part in range(3)) == len(lines) - 3
