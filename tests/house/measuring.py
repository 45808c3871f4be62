"""How large router/ and tests/ are, and which tests know the inside of router/."""

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TOP, TOTAL, TESTS, IMPORTS = "top", "total", "tests", "imports of router/ by tests"
MADE = "_version.py"
"""Written when the router is installed; git does not know it."""
STABLE = {"router.cli.main", "router.plugin", "router.pytest_plugin"}
"""What users call or import: tests that know no more of the router survive its redesign."""


def measured(tests: "Sources") -> dict[str, int]:
    """Lines of each package of router/, of both folders, and how often tests import the inside."""
    router = tests.root / "router"
    own = (path for path in router.glob("*.py") if path.name != MADE)
    found = {TOP: sum(map(lines, own))}
    for package in sorted(one for one in router.iterdir() if one.is_dir()):
        if count := lines_below(package):
            found[package.name] = count
    return {
        **found,
        TOTAL: sum(found.values()),
        TESTS: lines_below(tests.root / "tests"),
        IMPORTS: sum(len(tests.inside(name)) for name in tests.files),
    }


def lines(path: Path) -> int:
    """As `wc -l` counts them."""
    return path.read_bytes().count(b"\n")


def lines_below(folder: Path) -> int:
    """Lines of all Python files of a folder and those below it."""
    return sum(map(lines, folder.rglob("*.py")))


class Imported(NamedTuple):
    """One name that a file imports: `from MODULE import NAME`, or `import MODULE` without one."""

    module: str
    name: str | None

    @property
    def whole(self) -> str:
        return self.module if self.name is None else f"{self.module}.{self.name}"


def imported(source: str) -> Iterator[Imported]:
    """Every name that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Imported(one.name, None) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (Imported(node.module or "", one.name) for one in node.names)


def is_inside(one: Imported) -> bool:
    """Whether it names something of router/ beside the stable surfaces."""
    if one.module.split(".")[0] != "router":
        return False
    return not {one.module, one.whole} & STABLE


class Sources:
    """The Python files of tests/ below `root`, by the names of their modules."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    @cached_property
    def files(self) -> dict[str, Path]:
        paths = sorted((self.root / "tests").rglob("*.py"))
        return {self._module(path): path for path in paths}

    @cached_property
    def imports(self) -> Mapping[str, tuple[Imported, ...]]:
        """Of each module; files that are wrong on purpose import nothing."""
        found = {}
        for name, path in self.files.items():
            try:
                found[name] = tuple(imported(path.read_text("utf-8")))
            except SyntaxError:
                found[name] = ()
        return found

    def inside(self, module: str) -> list[Imported]:
        """What a module imports of the router's inside."""
        return [one for one in self.imports[module] if is_inside(one)]

    def reached(self, module: str) -> dict[str, list[str]]:
        """
        The modules of tests/ by which this one reaches the router's inside, itself among them, and
        what each imports of it. Fixtures of a conftest.py are not followed.
        """
        seen, todo = {module}, [module]
        while todo:
            for one in self.imports[todo.pop()]:
                for name in {one.module, one.whole} & self.files.keys() - seen:
                    seen.add(name)
                    todo.append(name)
        found = {name: [one.whole for one in self.inside(name)] for name in sorted(seen)}
        return {name: whole for name, whole in found.items() if whole}

    def _module(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")


class Share(NamedTuple):
    """Lines of a folder: all; in files that import the inside; in files that reach it by others."""

    lines: int
    direct: int
    through: int

    @property
    def outside(self) -> int:
        return self.lines - self.direct - self.through


def shares(sources: Sources) -> dict[str, Share]:
    """Of each folder of tests/; `.` has the files beside them."""
    found: dict[str, Share] = {}
    for module, path in sources.files.items():
        inner = path.relative_to(sources.root / "tests").parts
        folder, count = inner[0] if len(inner) > 1 else ".", lines(path)
        direct = bool(sources.inside(module))
        through = not direct and bool(sources.reached(module))
        old = found.get(folder, Share(0, 0, 0))
        found[folder] = Share(
            old.lines + count, old.direct + count * direct, old.through + count * through
        )
    return found
