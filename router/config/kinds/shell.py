"""`shell:` of an action: a program or a script, and what it is given."""

import os
import re
from pathlib import Path, PurePath
from typing import Annotated, Any

from router.config.context import LoadContext
from router.config.kinds.base import CompileContext, Compiled, Schema, Surroundings
from router.config.language import ExpressionSite
from router.config.spelling import GIVEN_VARIABLE, VARIABLE
from router.config.units import Duration, Size
from router.expressions import Template
from router.kinds.shell import ShellSpec
from router.model.settings import ShellLimits
from router.suggest import did_you_mean
from router.yaml_source import Entry, Node, Scalar, SourceText, Table, doc, named, needs, one

_SHELL_NAME = re.compile(r"(?:ba|da|a|z|k)?sh")
_TAKES_CODE = (
    (_SHELL_NAME, "c"),
    (re.compile(r"python[\d.]*"), "c"),
    (re.compile(r"perl[\d.]*"), "eE"),
    (re.compile(r"ruby[\d.]*"), "e"),
    (re.compile(r"node|nodejs"), "ep"),
    (re.compile(r"php[\d.]*"), "r"),
)
"""Programs, and the letters of the option behind which they take code."""
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)


@named("'limits'")
class ShellLimitsEntry(Entry):
    """What each process of a command may use."""

    cpu: Annotated[Duration | None, doc("Time of the processor.", gt=0)] = None
    memory: Annotated[Size | None, doc("Memory.", gt=0)] = None
    files: Annotated[int | None, doc("Open files.", gt=0)] = None


@named(
    "'shell'",
    rules=(one("argv", "script"), needs("interpreter", "script")),
    example="{argv: [PROGRAM, ARGUMENT]} or {script: 'LINES OF sh'}",
)
class ShellEntry(Entry):
    """A `shell` action: `argv` or `script`."""

    argv: Annotated[
        list[SourceText] | None,
        doc(
            "The program and its arguments; templates, read by no shell.",
            ["bin/suppress", "--", "{{ payload.email }}"],
            min_length=1,
        ),
    ] = None
    script: Annotated[
        SourceText | None,
        doc("A script; it never holds a template, values come by env.", './deploy.sh "$RUN"'),
    ] = None
    interpreter: Annotated[
        list[SourceText] | None,
        doc("What reads the script. Default sh -eu.", ["bash", "-eu"]),
    ] = None
    stdin: Annotated[
        Node | None,
        doc(
            "What it is given: default (the event), none, or JSON.",
            "none",
            {"order": "{{ payload.id }}"},
        ),
    ] = None
    env: Annotated[
        Table[SourceText] | None,
        doc(
            "Environment variables; templates.",
            {"RUN": "{{ payload.id }}"},
            names=GIVEN_VARIABLE.pattern,
        ),
    ] = None
    pass_env: Annotated[
        list[SourceText] | None,
        doc(
            "Variables of the router's own environment to pass on.",
            ["LANG"],
            pattern=GIVEN_VARIABLE.pattern,
        ),
    ] = None
    cwd: Annotated[
        SourceText | None, doc("The folder it runs in, relative to this file.", "bin")
    ] = None
    timeout: Annotated[Duration | None, doc("Default 10m.", gt=0)] = None
    limits: Annotated[ShellLimitsEntry | None, doc("What each process may use.")] = None
    files: Annotated[
        Table[Node] | None,
        doc(
            "Variables that name files with these contents.",
            {"ORDER": "body"},
            names=GIVEN_VARIABLE.pattern,
        ),
    ] = None


class ShellCompiler:
    """Compiles the `shell` actions of one file."""

    def __init__(self, file: CompileContext) -> None:
        self._file = file
        self._context = file.context

    def __call__(self, entry: ShellEntry, around: Surroundings) -> Compiled:
        """The process; what it is made of never comes from an event."""
        if not entry.broken & {"argv", "script"}:
            self._context.one_of("exactly-one", entry)
        self._context.above_zero(entry)
        self._static(entry.script, "a script", "hand the value over in 'env' and write \"$NAME\"")
        self._static(entry.cwd, "'cwd'", None)
        for name in (*(name for name, _ in entry.env or ()), *(entry.pass_env or ())):
            self._variable_name(name)
        spec = ShellSpec(
            argv=self._argv(entry, around),
            script=entry.script.value if entry.script else None,
            interpreter=self._interpreter(entry),
            stdin=self._stdin(entry, around),
            env=self._file.pairs(
                entry.env, ExpressionSite("an environment variable", around.roots, "any")
            ),
            pass_env=tuple(text.value for text in entry.pass_env or ()),
            cwd=str(self._context.folder / entry.cwd.value if entry.cwd else self._context.folder),
            timeout_s=entry.timeout / 1_000 if entry.timeout else 600.0,
            limits=self._limits(entry.limits),
            files=self._files(entry, around),
        )
        return spec, None

    def _limits(self, entry: ShellLimitsEntry | None) -> ShellLimits | None:
        if entry is None:
            return None
        self._context.above_zero(entry)
        return ShellLimits(
            None if entry.cpu is None else -(-entry.cpu // 1_000), entry.memory, entry.files
        )

    def _files(self, entry: ShellEntry, around: Surroundings) -> tuple[tuple[str, Any], ...]:
        place = ExpressionSite("a file", around.roots)
        found = []
        for name, node in entry.files or ():
            self._variable_name(name)
            if name.value in (entry.env or ()):
                self._context.error("bad-variable", f"'{name.shown}' stands in 'env' as well", name)
            whole = isinstance(node, Scalar) and node.value == "body"
            found.append((name.value, "body" if whole else self._file.language.json(node, place)))
        return tuple(found)

    def _static(self, text: SourceText | None, what: str, hint: str | None) -> None:
        """No template; other uses of two braces in a script are the script's own."""
        for found in _TEMPLATE.finditer(text.value if text else ""):
            template = self._file.language.quiet_template(found[0])
            if text is not None and template is not None and template.roots:
                self._context.error_within(
                    "template-not-here", f"{what} never holds a template", text, found.span(), hint
                )

    def _argv(self, entry: ShellEntry, around: Surroundings) -> tuple[Template, ...] | None:
        if (texts := entry.argv) is None:
            return None
        if not texts:
            self._context.error("bad-program", "'argv' names no program", entry.key_at("argv"))
        place = ExpressionSite("an argument", around.roots)
        found = [self._file.language.template(text, place) for text in texts]
        for text, template in zip(texts, found, strict=True):
            if template is not None and template.reads - {"var"} and text is _code_argument(texts):
                self._context.error(
                    "template-not-here",
                    "this argument is code, and a template would make the event's text part of it",
                    text,
                    "hand the value over in 'env' and write \"$NAME\", or as an argument behind it",
                )
        if found and found[0] is not None and found[0].reads - {"var"}:
            self._context.error(
                "bad-program", "the program to run cannot come from the event", texts[0]
            )
        return tuple(template for template in found if template is not None)

    def _interpreter(self, entry: ShellEntry) -> tuple[str, ...]:
        if entry.script is None:
            if entry.interpreter is not None:
                self._context.error(
                    "interpreter-without-script",
                    "'interpreter' goes with 'script' only",
                    entry.key_at("interpreter"),
                )
            return ()
        return tuple(text.value for text in entry.interpreter or ()) or ("sh", "-eu")

    def _stdin(self, entry: ShellEntry, around: Surroundings) -> Any:
        if (node := entry.stdin) is None:
            return "default"
        if isinstance(node, Scalar) and node.value in ("none", "default"):
            return node.value
        return self._file.language.json(node, ExpressionSite("stdin", around.roots))

    def _variable_name(self, name: SourceText) -> None:
        if not VARIABLE.fullmatch(name.value):
            self._context.error(
                "bad-variable", f"'{name.shown}' cannot be the name of a variable", name
            )
        elif name.value.startswith("WEBHOOK_"):
            self._context.error(
                "bad-variable",
                f"the variable '{name.shown}' is set by the router itself",
                name,
            )


def _code_argument(argv: list[SourceText]) -> SourceText | None:
    """The argument that a shell or another interpreter among these words takes as its code."""
    letters, option = "", ""
    for text in argv:
        before, option = option, text.value
        if letters and _is_code_option(before, letters):
            return text
        if not option.startswith("-") and not (letters and before.endswith("o")):
            name = PurePath(option).name  # behind `-o` stands its value
            found = (option for program, option in _TAKES_CODE if program.fullmatch(name))
            letters = next(found, "")
    return None


def _is_code_option(option: str, letters: str) -> bool:
    return bool(re.fullmatch(rf"-[A-Za-z]*[{letters}][A-Za-z]*|--(?:eval|print)", option))


def check_programs(context: LoadContext, entry: ShellEntry) -> None:
    """
    Warn of folders and programs that are given as relative paths and are not there.

    Names without a slash are looked for when they run, and absolute paths belong to the machine
    that runs them: neither can be judged here, but for those that hold arguments as well.
    """
    folder = context.folder / entry.cwd.value if entry.cwd else context.folder
    if entry.cwd is not None and not folder.is_dir():
        if not entry.cwd.value.startswith("/"):
            context.warning(
                "folder-not-there",
                f"there is no folder '{entry.cwd.shown}'",
                entry.cwd,
                "relative to this file",
            )
        return
    for words in (entry.argv, entry.interpreter):
        if words:
            _program(context, words[0], folder)


def _judged(name: str) -> bool:
    """A relative path, or what looks like a program with its arguments in one word."""
    return ("/" in name[1:] and not name.startswith("/")) or " " in PurePath(name.strip()).name


def _program(context: LoadContext, word: SourceText, folder: Path) -> None:
    name = word.value
    file = folder / name
    if "{{" in name or not _judged(name):
        return
    if not file.is_file():
        message = f"there is no program '{word.shown}'"
        start = name.removesuffix(file.name)
        beside = [start + one.name for one in file.parent.glob("*") if one.is_file()]
        hint = did_you_mean(name, beside) or "relative to 'cwd', else to this file"
        if " " in name.strip():
            hint = f"write each argument by itself: [{', '.join(name.split())}]"
    elif not os.access(file, os.X_OK):
        message, hint = f"'{word.shown}' cannot be run", f"chmod +x {word.shown}"
    else:
        return
    context.warning("program-not-there", message, word, hint)


SHELL = Schema(
    kind="shell",
    entry=ShellEntry,
    about="Run a program, or a script.",
    compiler=ShellCompiler,
    look=check_programs,
)
