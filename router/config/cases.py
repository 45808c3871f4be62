"""`each`: a test once for each case of a table, whose values stand where the test names them."""

import re
from collections.abc import Iterator

import msgspec

from router.legible import cut
from router.suggest import Suggester
from router.yaml_source import Mapping, Node, Report, Scalar, Sequence, described, opening, shown

EACH = "each"
_REFERENCE = re.compile(r"\{\{\s*each\.([A-Za-z_][\w-]*)\s*\}\}")
_NEARLY = re.compile(r"\{\{[^{}]*\beach\b[^{}]*\}\}")
_LABEL_MAX = 60
CASES_MAX = 1_000


class Case(msgspec.Struct, frozen=True):
    """One case: its name, the node that holds it, and its values."""

    label: str
    node: Node
    values: dict[str, Node]


def with_cases(document: Node | None, report: Report, suggest: Suggester) -> Node | None:
    """The document with a test for each case in place of those that have cases."""
    if not isinstance(document, Mapping) or EACH not in report.source.text:
        return document
    if (written := document.key("tests")) is None or (tests := document.get("tests")) is None:
        return document
    found: list[Node] = []
    for test in tests.items if isinstance(tests, Sequence) else [tests]:
        found += _Cases(test, report, suggest).tests()
    several = Sequence(tests.start, tests.end, found)
    return Mapping(document.start, document.end, {**document.entries, "tests": (written, several)})


class _Cases:
    """The cases of one test; `tests` reports what is wrong with them."""

    def __init__(self, test: Node, report: Report, suggest: Suggester) -> None:
        self._test = test
        self._report = report
        self._suggest = suggest
        self._right = True

    def tests(self) -> Iterator[Node]:
        """A test for each case; itself, if it has none; nothing if its cases are wrong."""
        test = self._test
        each = test.get(EACH) if isinstance(test, Mapping) else None
        if each is None or not isinstance(test, Mapping):
            self._without_cases()
            yield test
            return
        cases = list(self._read(each))
        self._check(cases, test)
        names: set[str] = set()
        for case in cases if self._right else ():
            made = self._made(case, test)
            if (name := made.get("name")) is not None and isinstance(name, Scalar):
                if name.value in names:
                    message = f"two cases are called '{shown(name.value)}'"
                    self._wrong(case.node, message, code="duplicate-test")
                names.add(name.value)
            yield made

    def _without_cases(self) -> None:
        for scalar in _scalars(self._test):
            if _REFERENCE.search(scalar.value):
                self._wrong(scalar, "this test has no 'each'", "list its cases under 'each'")

    # -- what is written ------------------------------------------------------------------------

    def _read(self, each: Node) -> Iterator[Case]:
        named = isinstance(each, Mapping)
        if isinstance(each, Sequence):
            items = [("", item) for item in each.items]
        else:
            items = [(key.value, item) for key, item in each] if isinstance(each, Mapping) else []
        if not items:
            self._wrong(each, "'each' is a list of cases, or a mapping of names and cases")
        if len(items) > CASES_MAX:
            self._wrong(each, f"a test has at most {CASES_MAX} cases", code="too-big")
        for name, item in items[:CASES_MAX]:
            if not isinstance(item, Mapping):
                self._wrong(item, f"a case is a mapping of names and values, not {described(item)}")
                continue
            values = {key.value: value for key, value in item if not key.value.startswith("x-")}
            yield Case(name if named else _label(values), item, values)

    def _check(self, cases: list[Case], test: Mapping) -> None:
        """Every name that the test uses is in every case, and no other; what is wrong first."""
        known = list(dict.fromkeys(name for case in cases for name in case.values))
        used: dict[str, None] = {}
        for scalar in _scalars(test, apart_from=EACH):
            for name in _REFERENCE.findall(scalar.value):
                used[name] = None
                if known and name not in known:
                    hint = self._suggest.hint(name, known) or f"its cases have {', '.join(known)}"
                    self._wrong(scalar, f"no '{name}' in 'each'", hint, code="unknown-name")
            if _NEARLY.search(_REFERENCE.sub("", scalar.value)):
                self._wrong(scalar, "a value of a case is named {{ each.NAME }}, and nothing else")
        for case in cases if self._right else ():
            self._check_case(case, used)

    def _check_case(self, case: Case, used: dict[str, None]) -> None:
        spare = {name: None for name in case.values if name not in used}
        for name in used:
            if name not in case.values:
                near = next(iter(self._suggest.closest(name, spare)), None)
                message = f"this case has no '{name}', which the test names"
                self._wrong(case.node, message, f"is '{near}' meant?" if near else None)
                spare.pop(near or "", None)
        for name in spare:
            key = case.node.key(name) if isinstance(case.node, Mapping) else None
            hint = f"write {{{{ each.{name} }}}} where it belongs"
            self._wrong(key or case.node, f"the test does not name '{shown(name)}'", hint)

    def _wrong(
        self, at: Node, message: str, hint: str | None = None, *, code: str = "bad-case"
    ) -> None:
        self._right = False
        self._report.error(code, message, *opening(at), hint)

    # -- what is made of it ---------------------------------------------------------------------

    def _made(self, case: Case, test: Mapping) -> Mapping:
        entries = {
            key.value: (key, case.node if key.value == EACH else self._filled(one, case))
            for key, one in test
        }
        name = test.get("name")
        if isinstance(name, Scalar) and not _REFERENCE.search(name.value):
            labelled = _text(f"{name.value} [{case.label}]", name)
            entries["name"] = (entries["name"][0], labelled)
        return Mapping(test.start, test.end, entries)

    def _filled(self, node: Node, case: Case) -> Node:
        """A copy with the case's values where they are named."""
        if isinstance(node, Sequence):
            return Sequence(node.start, node.end, [self._filled(one, case) for one in node.items])
        if isinstance(node, Mapping):
            pairs = ((self._joined(key, case), self._filled(one, case)) for key, one in node)
            entries = {key.value: (key, value) for key, value in pairs}
            return Mapping(node.start, node.end, entries)
        if (whole := _REFERENCE.fullmatch(node.value)) is not None:
            return case.values[whole[1]]
        return self._joined(node, case)

    def _joined(self, node: Scalar, case: Case) -> Scalar:
        """A text with texts of the case in it."""

        def value(found: re.Match[str]) -> str:
            one = case.values[found[1]]
            if isinstance(one, Scalar):
                return one.value
            self._wrong(one, f"{described(one)} cannot stand within a text")
            return ""

        text = _REFERENCE.sub(value, node.value)
        return node if text == node.value else _text(text, node)


def _text(value: str, like: Scalar) -> Scalar:
    return Scalar(value, '"', like.start, like.end)


def _label(values: dict[str, Node]) -> str:
    """What tells a case without a name from others: its plain values."""
    plain = (f"{name}: {one.value}" for name, one in values.items() if isinstance(one, Scalar))
    return cut(", ".join(plain), _LABEL_MAX)


def _scalars(node: Node, apart_from: str | None = None) -> Iterator[Scalar]:
    """Every scalar, keys too, but for those below one key of the node itself."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for one in node.items:
            yield from _scalars(one)
    else:
        for key, one in node:
            if key.value != apart_from:
                yield key
                yield from _scalars(one)
