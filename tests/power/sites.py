"""Where a small bug can be made in the router's code, and a copy of the project with some bugs."""

import ast
import random
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PAIRS: tuple[tuple[type[ast.cmpop], type[ast.cmpop]], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
)
TURNED = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
UNTOUCHED = ("annotation", "returns", "decorator_list", "type_params")
TOP = "top"
"""The name for the modules in router/ itself."""


@dataclass(frozen=True)
class Site:
    """A bug: code that replaces the bytes from `start` to `end` of a file."""

    package: str
    file: str
    line: int
    kind: str
    start: int
    end: int
    old: str
    new: str

    def switched(self, number: int) -> str:
        """Return the code with the bug behind the switch of this number."""
        if self.kind == "sum left out":
            return f"if not _mut({number}): {self.old}"
        return f"(({self.new}) if _mut({number}) else ({self.old}))"

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line} {self.kind}: {old[:70]} -> {new[:70]}"


def sites(package: str, file: str, source: bytes) -> Iterator[Site]:
    """Every bug that can be made in the functions of a file."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node in _within(ast.parse(source)):
        for kind, place, new in _bugs(node):
            start = lines[place.lineno - 1] + place.col_offset
            end = lines[(place.end_lineno or 0) - 1] + (place.end_col_offset or 0)
            old = source[start:end].decode()
            yield Site(package, file, place.lineno, kind, start, end, old, new)


def _within(node: ast.AST, inside: bool = False) -> Iterator[ast.AST]:
    """The nodes of function bodies without annotations, defaults, patterns and f-strings."""
    if inside:
        yield node
    begins = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            skipped = isinstance(child, ast.JoinedStr | ast.arguments | ast.pattern)
            if isinstance(child, ast.AST) and not skipped and name not in UNTOUCHED:
                yield from _within(child, inside or (begins and name == "body"))


def _bugs(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """The bugs of one node: the kind, what is replaced, and by what."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield "comparison", node, ast.unparse(ast.Compare(left, [TURNED[type(op)]()], [right]))
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", node, ast.unparse(ast.BoolOp(other, values))
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "branch", test, f"not ({ast.unparse(test)})"
        case ast.comprehension(ifs=filters):
            yield from (("filter", one, "True") for one in filters)
        case ast.Constant(value=bool(value)):
            yield "bool", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "number", node, str(value + 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            turned = ast.Sub() if isinstance(sign, ast.Add) else ast.Add()
            yield "sign", node, ast.unparse(ast.BinOp(left, turned, right))
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "call left out", node, "None"
        case ast.AugAssign():
            yield "sum left out", node, "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return", value, "None"


def packages(root: Path) -> list[str]:
    """The packages of the project's router, and `top`."""
    return sorted({package_of(path) for path in tracked(root)} - {""})


def package_of(path: Path) -> str:
    """The package of a Python file of the router; "" for any other file."""
    match path.parts:
        case ("router", *folders, _) if path.suffix == ".py":
            return folders[0] if folders else TOP
    return ""


def drawn(root: Path, package: str, count: int, seed: int) -> list[Site]:
    """Draw so many bugs of a package by chance, none inside another; fewer if it has fewer."""
    files = [path.as_posix() for path in tracked(root) if package_of(path) == package]
    sources = {file: (root / file).read_bytes() for file in files}
    every = [site for file, source in sources.items() for site in sites(package, file, source)]
    random.Random(f"{seed} {package}").shuffle(every)
    taken: list[Site] = []
    for site in every:
        if len(taken) == count:
            break
        beside = [one for one in taken if one.file == site.file]
        if all(site.end <= one.start or one.end <= site.start for one in beside) and compiles(
            planted(sources[site.file], [(0, site)])
        ):
            taken.append(site)
    return taken


def compiles(source: bytes) -> bool:
    try:
        compile(source, "planted", "exec")
    except SyntaxError:
        return False
    return True


def planted(source: bytes, bugs: Iterable[tuple[int, Site]]) -> bytes:
    """Return the file with these bugs in it, each behind the switch of its number."""
    for number, site in sorted(bugs, key=lambda bug: -bug[1].start):
        source = source[: site.start] + site.switched(number).encode() + source[site.end :]
    return source


def tracked(root: Path) -> list[Path]:
    """The project's files that git knows, relative to its folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True)
    found = (Path(name) for name in listed.stdout.decode().split("\0") if name)
    return sorted(path for path in found if (root / path).exists())


def copied(root: Path, copy: Path, bugs: Sequence[Site]) -> None:
    """Copy the project's files, with all bugs in them and all of them off."""
    made = [path for path in [Path("router/_version.py")] if (root / path).exists()]
    for path in tracked(root) + made:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, copy / path, follow_symlinks=False)
    for file in {site.file for site in bugs}:
        mine = [(number, site) for number, site in enumerate(bugs) if site.file == file]
        (copy / file).write_bytes(planted((copy / file).read_bytes(), mine))
    shutil.copy2(Path(__file__).with_name("switch.py"), copy / "router/_power.py")
    shutil.copy2(Path(__file__).with_name("plugin.py"), copy / "power_plugin.py")
    with (copy / "router/__init__.py").open("a") as file_:
        file_.write("\nfrom router import _power as _power\n")
