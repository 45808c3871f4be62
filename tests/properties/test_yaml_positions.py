"""A caret inside a scalar points at the right character of the file, however it is quoted."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from router.yaml_source import Mapping, Report, Scalar, Source, offsets, read

LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]
words = st.text(alphabet="abc.=&|'\"\\é日(){}[]$!#:,", min_size=1, max_size=6)
plain_words = st.text(alphabet="abcxyz.=()$é日", min_size=1, max_size=6)
gaps = st.sampled_from([" ", "  ", "\n    ", "\n\n    ", " \n    "])
block_gaps = st.sampled_from([" ", "  ", "\n    ", "\n\n    ", "\n      ", "\n\n\n    "])


def joined(parts: list[str], spaces: list[str]) -> str:
    text = parts[0]
    for part, space in zip(parts[1:], spaces, strict=False):
        text += space + part
    return text


def check(text: str, loader: object) -> None:
    """Every visible character of the value must stand at the offset that is given for it."""
    report = Report(Source(text, "t.yaml"))
    node = read(report, loader)
    if report.found:
        return
    assert isinstance(node, Mapping)
    scalar = node.get("key")
    assert isinstance(scalar, Scalar)
    places = offsets(text, scalar)
    assert len(places) == len(scalar.value) + 1
    for i, character in enumerate(scalar.value):
        at = places[i]
        if character in " \n":
            continue
        escaped = scalar.style == '"' and text[at] == "\\"
        if not escaped:
            assert text[at] == character, (i, at, text)
        elif text[at + 1] in '"\\':
            assert text[at + 1] == character
    last = places[-1]
    assert scalar.start <= last <= scalar.end


@pytest.mark.parametrize("loader", LOADERS)
@given(parts=st.lists(plain_words, min_size=1, max_size=5), spaces=st.lists(gaps, min_size=4))
def test_plain(loader: object, parts: list[str], spaces: list[str]) -> None:
    check(f"key: {joined(parts, spaces)}\nnext: 1\n", loader)


@pytest.mark.parametrize("loader", LOADERS)
@given(parts=st.lists(words, min_size=1, max_size=5), spaces=st.lists(gaps, min_size=4))
def test_single_quoted(loader: object, parts: list[str], spaces: list[str]) -> None:
    quoted = joined([part.replace("'", "''") for part in parts], spaces)
    check(f"key: &a '{quoted}' # c\nnext: 1\n", loader)


def escape(character: str, how: int) -> str:
    if character in '"\\':
        return "\\" + character
    return {1: f"\\u{ord(character):04x}", 2: f"\\U{ord(character):08x}"}.get(how, character)


@pytest.mark.parametrize("loader", LOADERS)
@given(
    parts=st.lists(words, min_size=1, max_size=5),
    spaces=st.lists(st.one_of(gaps, st.just("\\\n    "), st.just("\\t")), min_size=4),
    how=st.lists(st.integers(0, 5), min_size=30, max_size=30),
)
def test_double_quoted(loader: object, parts: list[str], spaces: list[str], how: list[int]) -> None:
    choice = iter(how)
    escaped = ["".join(escape(c, next(choice)) for c in part) for part in parts]
    check(f'key: "{joined(escaped, spaces)}"\nnext: 1\n', loader)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("header", ["|", ">", "|-", ">-", "|+", ">+", "| # comment", ">2"])
@given(parts=st.lists(words, min_size=1, max_size=5), spaces=st.lists(block_gaps, min_size=4))
def test_blocks(loader: object, header: str, parts: list[str], spaces: list[str]) -> None:
    check(f"key: {header}\n    {joined(parts, spaces)}\n\nnext: 1\n", loader)


@pytest.mark.parametrize("loader", LOADERS)
@given(parts=st.lists(words, min_size=1, max_size=5), spaces=st.lists(block_gaps, min_size=4))
def test_blocks_with_other_line_ends(loader: object, parts: list[str], spaces: list[str]) -> None:
    text = f"key: >\n    {joined(parts, spaces)}\nnext: 1\n"
    check(text.replace("\n", "\r\n"), loader)


def test_the_table_is_exact_for_escapes() -> None:
    text = 'key: "a\\u00e9b \\\n  c"\n'
    report = Report(Source(text, "t.yaml"))
    node = read(report)
    assert isinstance(node, Mapping)
    scalar = node.get("key")
    assert isinstance(scalar, Scalar)
    assert scalar.value == "aéb c"
    assert [text[offsets(text, scalar)[i]] for i in (0, 1, 2, 4)] == ["a", "\\", "b", "c"]
