"""Regular expressions: what they find, what is refused and where; nothing makes them slow."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from router.errors import EvaluationError, ExpressionError
from router.expressions import Failed
from router.expressions import compile as compiled
from router.expressions.regex import LENGTH_MAX

ROOT = Path(__file__).parents[3]
GIVEN: dict[str, Any] = {"ref": "refs/tags/v1.12", "note": "Größe: 5 €", "n": 5, "none": None}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("matches(ref, '^refs/tags/v[0-9]+')", True),
        ("matches(ref, 'tags')", True),
        ("matches(ref, '^tags')", False),
        ("matches(ref, 'TAGS')", False),
        ("matches(ref, '(?i)TAGS')", True),
        ("matches(note, '^\\pL+: . €$')", True),
        ("matches('a\nb', '^b$')", False),
        ("matches('a\nb', '(?m)^b$')", True),
        ("matches('it\\'s', '\\'s$')", True),
        ("matches(none, 'x')", None),
        ("matches(gone, 'x')", None),
        ("capture(ref, '[0-9]+')", "1"),
        ("capture(ref, 'v([0-9]+)[.]([0-9]+)')", "1"),
        ("capture(ref, '(?P<kind>heads|tags)/(?P<name>.*)')", {"kind": "tags", "name": "v1.12"}),
        ("capture(ref, '(?<kind>tags)/(x)?')", {"kind": "tags"}),
        ("capture(ref, 'v(x)?')", None),
        ("capture(ref, '(?P<a>v)|(?P<b>x)')", {"a": "v", "b": None}),
        ("capture(note, 'ö(.)e')", "ß"),
        ("capture(ref, 'x')", None),
        ("capture(none, 'x')", None),
        ("capture(ref, '(?P<major>[0-9]+)').major", "1"),
    ],
)
def test_results(text: str, result: Any) -> None:
    assert compiled(text).search(GIVEN) == result


def test_a_number_is_no_text() -> None:
    assert compiled("matches(n, '5')").verdict(GIVEN) == Failed(
        "matches() needs string as 'text', got number"
    )


@pytest.mark.parametrize(
    ("pattern", "piece", "says"),
    [
        ("^a(?=b)", "(?=", "lookahead"),
        ("a(?!b)", "(?!", "lookahead"),
        ("a(?<=b)c", "(?<=", "lookbehind"),
        ("a(?<!b)c", "(?<!", "lookbehind"),
        (r"(a)\1", r"\1", "a reference to a group"),
        (r"(?P<n>a)\k<n>", r"\k", "a reference to a group"),
        ("(?P<n>a)(?P=n)", "(?P=", "a reference to a group"),
        ("a(?>b)", "(?>", "not needed"),
        ("ab++", "++", "not needed"),
        ("a**", "**", "repeats a repetition"),
        ("a*|*", "*", "nothing stands before '*'"),
        (r"a\Z", r"\Z", "not supported"),
        (r"\\a\q", r"\q", "means nothing"),
        ("x{2}{1001}", "{2}{1001}", "repeats a repetition"),
        ("x{1001}", "{1001}", "more than 1,000 times"),
        ("a[z-a]", "z-a", "no range"),
        (r"\p{Letter}", r"\p{Letter}", "no range or class"),
        ("(a", "(a", "has no ')'"),
        ("a)b", ")", "has no '('"),
        ("a[b", "[", "has no ']'"),
        ("(?x)a", "(?x", "flags"),
        ("(?P<a b>c)", "(?P<a b>", "no name of a group"),
        (r"\pL{300}", r"\pL{300}", "too large"),
        ("a{1000}" * 6, "a{1000}" * 6, "too large"),
        ("a" * (LENGTH_MAX + 1), "a" * (LENGTH_MAX + 1), "at most 1,000 characters"),
    ],
)
def test_what_is_refused_stands_under_the_caret(pattern: str, piece: str, says: str) -> None:
    text = f"matches(ref, '{pattern}')"
    with pytest.raises(ExpressionError) as raised:
        compiled(text)
    fault = raised.value
    assert fault.code == "bad-pattern"
    assert says in fault.message
    assert text[fault.start : fault.end] == piece


@pytest.mark.parametrize("pattern", ["ref", "lower('A')", "5", '`["a"]`', "var.pattern"])
def test_a_pattern_is_written_in_the_call(pattern: str) -> None:
    text = f"capture(ref, {pattern})"
    with pytest.raises(ExpressionError, match="as a text in single quotes") as raised:
        compiled(text)
    assert text[raised.value.start : raised.value.end] == pattern


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 100_000 + "b"),
        ("(a|a)*b", "a" * 100_000),
        ("(x+x+)+y", "x" * 100_000),
        ("^(a?){30}a{30}$", "a" * 100_000),
        ("(.*)(.*)(.*)(.*)(.*)[^a]$", "a" * 100_000),
    ],
)
def test_what_takes_others_for_ever_ends(pattern: str, text: str) -> None:
    """These take a backtracking engine longer than the universe has: they need only end."""
    assert compiled(f"matches(t, '{pattern}')").verdict({"t": text}) is False
    assert compiled(f"capture(t, '{pattern}')").search({"t": text}) is None


def test_a_large_pattern_reads_no_large_text() -> None:
    large = compiled("matches(t, '^[ab]*a[ab]{900}c')")
    assert large.verdict({"t": "a" * 10_000}) is False
    with pytest.raises(EvaluationError, match=r"matches\(\) reads at most [0-9,]+ bytes"):
        large.search({"t": "a" * 100_000})
    assert compiled("matches(t, 'b$')").verdict({"t": "a" * 1_000_000}) is False


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


_CHECK = "from router.cli.main import main; sys.argv[1:] = ['check', '-f', {!r}]; main()"


@pytest.mark.long
def test_files_without_a_pattern_do_not_import_the_engine() -> None:
    check = _CHECK.format(str(ROOT / "rules.example.yaml"))
    ran = _run(f"import sys\ntry:\n    {check}\nfinally:\n    print('re2' in sys.modules)")
    assert ran.stdout.endswith("False\n"), ran.stderr


def test_where_the_engine_is_not_installed_the_expression_says_so() -> None:
    good = ROOT / "tests" / "golden" / "codes" / "bad-pattern" / "good.yaml"
    ran = _run(f"import sys; sys.modules['re2'] = None; {_CHECK.format(str(good))}")
    said = ran.stdout + ran.stderr
    assert "good.yaml:9:34: error bad-pattern" in said
    assert "pip install google-re2" in said
    assert "Traceback" not in said
