"""The tool works: what must be noticed is, what nobody can notice is not; its lists do not rot."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.defects.defect import ROOT
from tests.defects.proving import Copy, copies
from tests.mutants.__main__ import chosen, score
from tests.mutants.alike import ALIKE
from tests.mutants.groups import GROUPS, Group
from tests.mutants.running import Verdict, drawn, judged
from tests.mutants.sites import Mutant, mutants

pytestmark = pytest.mark.long

SOURCE = b'''"""A docstring, 1."""
import os

LIMIT = 3
WORDS = "two words"


class Door:
    """Another, 2."""

    __slots__ = ("a",)

    @cached(size=7)
    def opens(self, age: "int", name: str = "ann") -> bool:
        if not name or age < LIMIT:
            raise ValueError("too young")
        self.seen = True
        log.info("opened", age=4)
        note(f"{age + 1} WHERE a = 5 AND b IS NULL")
        return age == 18 if name else [n for n in WORDS if n]

    def __repr__(self) -> str:
        return "5"
'''


def changes(source: bytes) -> list[tuple[str, str, str]]:
    return [(one.kind, one.old, one.new) for one in mutants("f.py", source)]


def test_what_is_changed() -> None:
    raised = 'raise ValueError("too young")'
    sql = 'f"{age + 1} WHERE a %s 5 %s b %s"'
    reported = sql % ("=", "AND", "IS NULL")
    assert Counter(changes(SOURCE)) == Counter(
        [
            ("constant", "3", "(4)"),
            ("constant", "3", "(2)"),
            ("constant", '"ann"', "'not ann'"),
            ("branch", "not name or age < LIMIT", "True"),
            ("branch", "not name or age < LIMIT", "False"),
            ("and/or", "not name or age < LIMIT", "(not name and age < LIMIT)"),
            ("not", "not name", "(name)"),
            ("comparison", "age < LIMIT", "(age <= LIMIT)"),
            ("comparison", "age < LIMIT", "(age >= LIMIT)"),
            ("statement", raised, "pass"),
            ("statement", "self.seen = True", "pass"),
            ("constant", "True", "False"),
            ("statement", f"note({reported})", "pass"),
            ("sql", reported, sql % ("<>", "AND", "IS NULL")),
            ("sql", reported, sql % ("=", "OR", "IS NULL")),
            ("sql", reported, sql % ("=", "AND", "IS NOT NULL")),
            ("sql", reported, reported.replace("+ 1", "- 1")),
            ("sql", reported, reported.replace("+ 1", "+ 2")),
            ("return", "age == 18 if name else [n for n in WORDS if n]", "None"),
            ("branch", "name", "True"),
            ("branch", "name", "False"),
            ("comparison", "age == 18", "(age != 18)"),
            ("constant", "18", "(19)"),
            ("constant", "18", "(17)"),
            ("filter", "n", "True"),
        ]
    )


def test_a_change_is_of_one_place_and_tells_where() -> None:
    one = next(one for one in mutants("f.py", SOURCE) if one.kind == "not")
    assert (one.line, one.within) == (15, "Door.opens")
    assert one.row == "if not name or age < LIMIT:"
    assert one.applied(SOURCE) == SOURCE.replace(b"not name", b"(name)")
    assert str(one) == "f.py:15 not: not name -> (name)"


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_every_change_is_python_still(group: Group) -> None:
    for one in drawn(group, 100, 1):
        ast.parse(one.applied((ROOT / one.file).read_bytes()))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_modules_and_tests_of_a_group_are_there(group: Group) -> None:
    assert len(drawn(group, None, 1)) > 100
    missing = [name for name in group.tests if not (ROOT / name).is_file()]
    missing += [name for name in group.modules if not (ROOT / "router" / name).is_file()]
    assert missing == []


def test_a_seed_brings_a_sample_back() -> None:
    group = GROUPS[0]
    assert drawn(group, 60, 7) == drawn(group, 60, 7)
    assert drawn(group, 60, 7) != drawn(group, 60, 8)
    assert len(set(drawn(group, 60, 7))) == 60


@pytest.mark.parametrize("one", ALIKE, ids=lambda one: f"{one.file}-{one.within}-{one.new}")
def test_what_nobody_can_notice_still_stands_in_the_source(one: object) -> None:
    found = mutants(f"router/{one.file}", (ROOT / "router" / one.file).read_bytes())  # type: ignore[attr-defined]
    assert [mutant for mutant in found if one.is_of(mutant)]  # type: ignore[attr-defined]


def test_groups_and_modules_are_chosen_by_name() -> None:
    assert chosen([]) == list(GROUPS)
    assert [g.name for g in chosen(["retry", "ssrf"])] == ["retry", "ssrf"]
    (alone,) = chosen(["model/retry.py"])
    assert (alone.name, list(alone.modules)) == ("retry", ["model/retry.py"])
    with pytest.raises(SystemExit, match="no such group or module: cellar"):
        chosen(["cellar"])


def test_what_counts() -> None:
    one = mutants("f.py", SOURCE)[0]
    states = ("caught", "late", "survived", "broken", "alike")
    verdicts = [Verdict(one, state, 0.0, "") for state in states]  # type: ignore[arg-type]
    assert score(verdicts) == 0.5
    assert score(verdicts[:2] + verdicts[4:]) == 1.0


# -- on a copy ------------------------------------------------------------------------------------

PLACE = "router/model/addresses.py"
TESTS = ("tests/unit/model/test_addresses.py",)


@pytest.fixture(scope="module")
def copy() -> Iterator[Copy]:
    with copies(1) as (one,):
        yield one


def _of(old: str, new: str) -> Mutant:
    found = mutants(PLACE, (ROOT / PLACE).read_bytes())
    return next(one for one in found if (one.old, one.new) == (old, new))


def test_a_change_that_matters_is_noticed(copy: Copy) -> None:
    verdict = judged(
        copy,
        _of("ip.version == net.version and ip in net", "(ip.version == net.version or ip in net)"),
        TESTS,
        60,
    )
    assert verdict.state == "caught", verdict.output
    assert (copy.root / PLACE).read_bytes() == (ROOT / PLACE).read_bytes()


def test_a_change_of_nothing_survives(copy: Copy) -> None:
    one = _of("ip.version == net.version and ip in net", "(ip.version == net.version or ip in net)")
    same = Mutant(PLACE, 1, "", "", "none", one.start, one.end, one.old, f"({one.old})")
    verdict = judged(copy, same, TESTS, 60)
    assert verdict.state == "survived", verdict.output


def test_a_change_that_never_ends_is_late_and_one_without_tests_proves_nothing(copy: Copy) -> None:
    one = _of("ip.version == net.version and ip in net", "(ip.version == net.version or ip in net)")
    endless = Mutant(PLACE, 1, "", "", "none", 0, 0, "", "while True:\n    pass\n")
    assert judged(copy, endless, TESTS, 3).state == "late"
    assert judged(copy, one, ("tests/unit/test_no_such.py",), 60).state == "broken"
