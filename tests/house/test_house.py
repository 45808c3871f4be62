"""The code makes no dangerous calls, has one name for one thing and no dependency too old."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"


def test_every_folder_of_tests_is_a_package() -> None:
    """Else two files of one name cannot both be collected."""
    folders = {file.parent for file in TESTS.rglob("test_*.py")}
    assert folders
    assert [str(f) for f in folders if not (f / "__init__.py").is_file()] == []


# -- what the code may not do ---------------------------------------------------------------------

SOURCES = sorted((ROOT / "router").rglob("*.py"))
MODULES = {
    ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
    for p in SOURCES
}
SAFE_LOADERS = {"CSafeLoader", "SafeLoader"}
YAML_LOADS = {"load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all"}
LOADED = {"router/providers/catalogue.py"}
"""Our own definitions, read by a safe loader that is faster than `safe_load`."""


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call below a node with the name it is called by: `eval`, `yaml.load`, `run`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def reported(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def misdeeds(source: str, path: Path) -> list[str]:
    """Places at which text could become a program, or YAML an object."""
    found = []
    for name, call in calls(ast.parse(source)):
        keywords = {k.arg: ast.unparse(k.value) for k in call.keywords}
        last = name.rpartition(".")[2]
        if name in ("eval", "exec", "builtins.eval", "builtins.exec"):
            found.append(f"{reported(path, call)} {name}")
        if keywords.get("shell", "False") != "False" or name in ("os.system", "os.popen"):
            found.append(f"{reported(path, call)} a shell reads {name}")
        if last == "create_subprocess_shell":
            found.append(f"{reported(path, call)} {name}")
        loader = [ast.unparse(argument) for argument in call.args[1:]]
        safe = path.relative_to(ROOT).as_posix() in LOADED and loader == ["_LOADER"]
        if name.startswith("yaml.") and last in YAML_LOADS and not safe:
            found.append(f"{reported(path, call)} {name}")
        if name.startswith(("pickle.", "marshal.", "shelve.", "dill.")):
            found.append(f"{reported(path, call)} {name}")
        if last == "from_string":  # a template made of text that came from somewhere
            found.append(f"{reported(path, call)} {name}")
    return found


@pytest.mark.long
def test_nothing_runs_text_as_a_program() -> None:
    """No eval, no shell that reads payload, no YAML that makes objects, no pickles."""
    found = [one for path in SOURCES for one in misdeeds(path.read_text(encoding="utf-8"), path)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "subprocess.run(x, shell=True)",
        "subprocess.run(x, shell=wanted)",
        "os.system(x)",
        "await asyncio.create_subprocess_shell(x)",
        "yaml.load(x, Loader=L)",
        "pickle.loads(x)",
        "Environment().from_string(x)",
    ],
)
def test_a_misdeed_is_found(source: str) -> None:
    assert misdeeds(source, ROOT / "router" / "x.py")


def test_yaml_is_read_by_safe_loaders_only() -> None:
    loaders = {
        found
        for path in SOURCES
        for found in re.findall(r"yaml\.(\w*Loader)\b", path.read_text(encoding="utf-8"))
    }
    quoted = {
        found
        for path in SOURCES
        for found in re.findall(r'yaml, "(\w*Loader)"', path.read_text(encoding="utf-8"))
    }
    assert loaders | quoted <= SAFE_LOADERS


# -- one name, one thing --------------------------------------------------------------------------


def classes(trees: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Where each name of a top-level class stands, by the files that have it."""
    places: dict[str, list[str]] = {}
    for path, tree in trees:
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path)
    return places


@pytest.mark.long
def test_no_two_classes_have_one_name() -> None:
    trees = ((str(p.relative_to(ROOT)), ast.parse(p.read_text(encoding="utf-8"))) for p in SOURCES)
    assert {name: places for name, places in classes(trees).items() if len(places) > 1} == {}


def test_a_class_that_stands_twice_is_found() -> None:
    trees = [("a.py", ast.parse("class Part: ...")), ("b.py", ast.parse("class Part: ..."))]
    assert classes(trees) == {"Part": ["a.py", "b.py"]}


# -- what the code may stand on -------------------------------------------------------------------

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FLOORS = {  # below these there are published advisories, or our tests fail
    "litestar": "2.25",
    "httptools": "0.8",
    "pyyaml": "6.0",
    "msgspec": "0.21",
    "cryptography": "46.0.7",
    "jinja2": "3.1.6",
    "pyjwt": "2.13",
}
FLOORS_IF_PRESENT = {"h11": "0.16"}
UNUSED = ("python_multipart", "h11", "hypercorn", "requests", "pickle")
"""Not imported by us, whoever may have installed it."""


def floor_of(requirement: str) -> tuple[str, Version | None]:
    """A requirement's name and the least version that it allows."""
    parsed = Requirement(requirement)
    least = [Version(s.version) for s in parsed.specifier if s.operator in (">=", "==", "~=")]
    return canonicalize_name(parsed.name), max(least, default=None)


def declared(*extras: str) -> list[Requirement]:
    """What the project stands on, and with these extras."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][e] for e in extras)]
    return [Requirement(one) for requirements in lists for one in requirements]


def test_no_dependency_may_be_older_than_its_advisories() -> None:
    found = [floor_of(str(one)) for one in declared("jwt", "postgres", "test")]
    assert {name for name, _ in found} >= set(FLOORS)
    for name, least in found:
        if name in FLOORS:
            assert least is not None, name
            assert least >= Version(FLOORS[name]), name


@pytest.mark.long
def test_what_is_imported_is_declared() -> None:
    """Not what happens to come along with something else. `pytest` is there where its plugin is."""
    known = packages_distributions()
    mine = {canonicalize_name(one.name) for one in declared("jwt", "postgres", "otel")}
    imported = {n.split(".")[0] for path in SOURCES for _, n in imports(path)}
    imported -= sys.stdlib_module_names | {"router", "pytest"}
    assert {"msgspec", "idna", "jwt"} <= imported, "it finds imports"
    assert [n for n in imported if mine.isdisjoint(map(canonicalize_name, known.get(n, ())))] == []
    used = {canonicalize_name(d) for name in imported for d in known.get(name, ())}
    assert mine - used == {"jmespath"}, "declared; only that one, the reference, is not imported"


def test_every_dependency_has_a_floor() -> None:
    extras = PROJECT["optional-dependencies"]
    bare = {name for name, least in map(floor_of, PROJECT["dependencies"]) if least is None}
    for extra in ("jwt", "postgres", "test", "browser", "clients", "docs"):
        bare |= {name for name, least in map(floor_of, extras[extra]) if least is None}
    assert bare == set()


@pytest.mark.parametrize("name", [*FLOORS, *FLOORS_IF_PRESENT])
def test_what_is_installed_is_new_enough(name: str) -> None:
    try:
        found = Version(version(name))
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    assert found >= Version({**FLOORS, **FLOORS_IF_PRESENT}[name])


@cache
def imports(path: Path) -> tuple[tuple[str, str], ...]:
    """Each module that a file names in an import, and where."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        found += [(reported(path, node), name) for name in names]
    return tuple(found)


@pytest.mark.long
def test_what_is_not_used_is_not_imported() -> None:
    found = {where for path in SOURCES for where, n in imports(path) if n.split(".")[0] in UNUSED}
    assert found == set()


def inner_imports(tree: ast.AST) -> Iterator[str]:
    """What a module imports of router/: modules, or the packages whose names it takes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "router":
            for name in (f"{node.module}.{one.name}" for one in node.names):
                yield name if name in MODULES else node.module or ""


def circle(modules: Mapping[str, str]) -> list[str]:
    """Modules of which each imports the next, and the last is the first; a package its own not."""
    graph = {
        name: {
            one for one in inner_imports(ast.parse(text)) if not f"{name}.".startswith(f"{one}.")
        }
        for name, text in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.mark.long
def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle({name: path.read_text("utf-8") for name, path in MODULES.items()}) == []


def test_a_circle_of_imports_is_found_within_a_function_too() -> None:
    one, other = "router.config.schema", "router.config.context"
    lazy = f"def further():\n    from {one} import FileEntry\n"
    assert circle({one: "from router.config import context", other: lazy}) != []


# -- parts are whole once they are made -----------------------------------------------------------

SET_LATER = {
    "router/store/postgres/database.py: self.damaged": "the store is made of its database",
    "router/wiring/live.py: ref.former": "former generations are found in the open store",
    "router/web/server.py: wire.crowded": "the listener is made after its wire",
    "router/cli/listening/forwarder.py: self.save": "an option, set where it is read",
    "router/web/connections.py: self.crowded": "the listener is made after its wire",
    "router/yaml_source/source.py: self._silent": "pragmas are read with the text, after it",
}
"""What is set on a part after it was made, or waits with a stand-in for that, and why."""


def set_later(source: str, path: str) -> Iterator[str]:
    """
    In wiring: every attribute that is set on something else. Elsewhere: callables of a part that
    begin as None or as a function that does nothing, so that somebody can set them later.
    """
    for node in ast.walk(ast.parse(source)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            name = ast.unparse(target)
            depth = name.count(".")
            outside = depth > (1 if name.startswith("self.") else 0)
            if isinstance(target, ast.Attribute) and outside and "/wiring/" in path:
                yield f"{path}: {name}"
            elif isinstance(node, ast.AnnAssign) and "Callable[" in ast.unparse(node.annotation):
                stand_in = isinstance(node.value, ast.Lambda | ast.Constant | ast.Name)
                if name.startswith("self.") and node.value is not None and stand_in:
                    yield f"{path}: {name}"


@pytest.mark.long
def test_parts_are_whole_once_they_are_made() -> None:
    found = {
        one
        for path in SOURCES
        for one in set_later(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    }
    assert found - SET_LATER.keys() == set()


@pytest.mark.parametrize(
    "source",
    [
        "server.on_change = note",
        "self.server.on_change = note",
        "server.count += 1",
        "self.told: Callable[[int], None] = lambda _: None",
        "self.told: Callable[[int], None] | None = None",
    ],
)
def test_what_is_set_later_is_found(source: str) -> None:
    assert list(set_later(source, "router/wiring/x.py"))
