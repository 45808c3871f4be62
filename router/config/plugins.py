"""`python` actions: the plugin is found and read by parsing; nothing of it is ever run here."""

import ast
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from router.config.context import LoadContext
from router.plugin_host.finding import FOLDER, GROUP
from router.suggest import meaning
from router.yaml_source import SourceText, Table, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_CALL = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*")
_ENTRY = re.compile(r"[\w.-]+(:[A-Za-z_]\w*(\.\w+)*)?")
_Function = ast.FunctionDef | ast.AsyncFunctionDef

_Given = Table[Any] | None


class Module(msgspec.Struct, frozen=True):
    """
    What parsing a plugin's source tells.

    `shown` is the file as messages name it; `functions` those defined at the top level, `names`
    everything that is bound there. `fault` says why it could not be parsed.
    """

    shown: str
    functions: dict[str, Any]
    names: frozenset[str]
    fault: str | None = None


class Plugins:
    """Checks the calls of one file; each plugin is parsed once."""

    def __init__(self, context: LoadContext) -> None:
        self._context = context
        self._folder = context.folder / FOLDER
        self._parsed = cache(_read)
        folders = {self._folder, context.folder}
        self._installed_as = cache(lambda top: installed_as(top, folders))

    def check(self, call: SourceText, given: _Given) -> None:
        """Report what is wrong with a call and the names of its arguments."""
        name, _, function = call.value.partition(":")
        if (file := self._file(name)) is None:
            self._installed(call, name, function, given)
        elif not _CALL.fullmatch(call.value):
            self._context.error(
                "bad-plugin-call",
                f"'{call.shown}' names no function",
                call,
                f"write {name}:FUNCTION",
            )
        elif hidden := self._installed_as(name.partition(".")[0]):
            self._context.error(
                "plugin-name-taken",
                f"{FOLDER}/{name} has the name of {hidden}, which would be imported instead",
                call,
                "give the plugin another name",
            )
        else:
            shown = str(file.relative_to(self._context.folder))
            self._function(call, self._parsed(file, shown), function, given)

    # -- where it is ----------------------------------------------------------------------------

    def _file(self, name: str) -> Path | None:
        place = self._folder.joinpath(*name.split("."))
        files = (place / "__init__.py", place.with_name(place.name + ".py"))
        return next((file for file in files if file.is_file()), None)

    def _installed(self, call: SourceText, name: str, function: str, given: _Given) -> None:
        """A call of an entry point: a module, or the function itself."""
        if not _ENTRY.fullmatch(call.value):
            self._context.error(
                "bad-plugin-call", f"'{call.shown}' is not written MODULE:FUNCTION", call
            )
            return
        if (point := next((p for p in self._points if p.name == name), None)) is None:
            self._unknown(call, name)
            return
        function = function or point.attr
        if not function:
            self._context.error(
                "bad-plugin-call",
                f"the entry point '{name}' is a module; '{call.shown}' names no function of it",
                call,
                f"write {name}:FUNCTION",
            )
            return
        if (file := _source_of(point.module)) is not None:
            self._function(call, self._parsed(file, point.module), function, given)

    def _unknown(self, call: SourceText, name: str) -> None:
        modules = {file.stem for file in self._folder.glob("*.py")}
        packages = {file.parent.name for file in self._folder.glob("*/__init__.py")}
        known = sorted(modules | packages | {point.name for point in self._points})
        found = self._context.suggest.closest(name, known)
        if (hint := meaning(name, found, lambda near: call.value.replace(name, near, 1))) is None:
            listed = f"; known: {', '.join(known[:8])}" if known else ""
            hint = f"a plugin is a file {FOLDER}/NAME.py beside the rules file{listed}"
        self._context.error("unknown-plugin", f"there is no plugin '{shown(name)}'", call, hint)

    @cached_property
    def _points(self) -> "Sequence[EntryPoint]":
        from importlib.metadata import entry_points  # noqa: PLC0415 - 20 ms for few

        return tuple(entry_points(group=GROUP))

    # -- what is in it --------------------------------------------------------------------------

    def _function(self, call: SourceText, module: Module, function: str, given: _Given) -> None:
        if module.fault is not None:
            self._context.error(
                "plugin-unreadable", f"{module.shown} cannot be read: {module.fault}", call
            )
            return
        if (found := module.functions.get(function)) is not None:
            if not found.decorator_list:  # a decorator may have changed what it takes
                self._arguments(call, found, given)
            return
        if function.partition(".")[0] in module.names:
            return  # bound some other way: its parameters cannot be seen
        near = self._context.suggest.closest(function, module.functions)
        if (
            hint := meaning(function, near, lambda one: call.value.removesuffix(function) + one)
        ) is None:
            listed = ", ".join(n for n in module.functions if not n.startswith("_"))
            hint = f"functions there: {listed[:200] or 'none'}"
        self._context.error(
            "unknown-plugin-function",
            f"{module.shown} has no function '{shown(function)}'",
            call,
            hint,
        )

    def _arguments(self, call: SourceText, found: _Function, given: _Given) -> None:
        code, error = "plugin-arguments", self._context.error
        takes = found.args
        positional = [*takes.posonlyargs, *takes.args]
        if len(positional) < 2 and takes.vararg is None:
            error(
                code,
                f"'{found.name}' does not take an event and a context",
                call,
                f"def {found.name}(event, context, …)",
            )
            return
        required, known = _parameters(takes)
        names = {name.value: name for name, _ in given or ()}
        for name in names.keys() - known if takes.kwarg is None else ():
            error(
                code,
                f"'{found.name}' has no argument '{shown(name)}'",
                names[name],
                self._context.suggest.hint(name, known) or _listed(known),
            )
        if missing := [name for name in required if name not in (given or ())]:
            error(code, f"'{found.name}' needs {_listed(missing)}, which 'args' lacks", call)


def _parameters(takes: ast.arguments) -> tuple[list[str], set[str]]:
    """The names beside event and context: those that must be given, and all."""
    positional = [*takes.posonlyargs, *takes.args]
    without_default = len(positional) - len(takes.defaults)
    required = [a.arg for a in positional[2:without_default]]
    pairs = zip(takes.kwonlyargs, takes.kw_defaults, strict=True)
    required += [a.arg for a, default in pairs if default is None]
    by_name = [*positional[2:], *takes.kwonlyargs]
    return required, {a.arg for a in by_name if a not in takes.posonlyargs}


def _read(file: Path, shown: str) -> Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the plugin's author, not of this file's
            tree = ast.parse(file.read_bytes(), shown)
    except SyntaxError as error:
        return Module(shown, {}, frozenset(), f"line {error.lineno}: {error.msg}")
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return Module(shown, {}, frozenset(), type(error).__name__)
    statements = list(_top_level(tree.body))
    return Module(
        shown,
        {s.name: s for s in statements if isinstance(s, _Function)},
        frozenset(_bound(statements)),
    )


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, those within `if` and `try` too."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(statement, part, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _top_level(handler.body)


def _bound(statements: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from ((a.asname or a.name).partition(".")[0] for a in statement.names)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def installed_as(top: str, ours: set[Path]) -> str | None:
    """What is installed under a module's name, or None; folders of `ours` do not count."""
    if top in sys.stdlib_module_names:
        return "a module of Python itself"
    spec = PathFinder.find_spec(top, [p for p in sys.path if Path(p or ".").absolute() not in ours])
    return None if spec is None or spec.origin is None else "an installed module"


def _source_of(module: str) -> Path | None:
    """The source of an installed module, found without importing it or its packages."""
    path, spec, whole = list(sys.path), None, ""
    for part in module.split("."):
        whole = f"{whole}.{part}" if whole else part
        if (spec := PathFinder.find_spec(whole, path)) is None:
            return None
        path = list(spec.submodule_search_locations or ())
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    return origin if origin is not None and origin.suffix == ".py" else None


def _listed(names: Iterable[str]) -> str:
    shown = ", ".join(f"'{n}'" for n in sorted(names)[:8])
    return shown or "it takes no arguments"
