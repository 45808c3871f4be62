"""`python:` of an action: a function of a plugin and its arguments."""

from typing import Annotated

from router.config.kinds.base import CompileContext, Compiled, Schema, Surroundings
from router.config.language import ExpressionSite
from router.config.plugins import Plugins
from router.config.units import Duration
from router.kinds.python import PythonSpec
from router.yaml_source import Entry, Node, SourceText, Table, doc, named


@named("'python'", required=("call",), example="{call: MODULE:FUNCTION}")
class PythonEntry(Entry):
    """A `python` action: a function of a plugin."""

    call: Annotated[
        SourceText | None,
        doc("MODULE:FUNCTION of plugins/MODULE.py.", "desk:notify"),
    ] = None
    args: Annotated[
        Table[Node] | None,
        doc("Its named arguments; texts are templates.", {"text": "Order {{ payload.name }}"}),
    ] = None
    secrets: Annotated[list[SourceText] | None, doc("Secrets that it may read.", ["erp"])] = None
    timeout: Annotated[Duration | None, doc("Default 60s.", gt=0)] = None


class PythonCompiler:
    """Compiles the `python` actions of one file."""

    def __init__(self, file: CompileContext) -> None:
        self._file = file
        self._plugins = Plugins(file.context)

    def __call__(self, entry: PythonEntry, around: Surroundings) -> Compiled:
        """The call; the plugin is found and its function read, never run."""
        context, language = self._file.context, self._file.language
        context.above_zero(entry)
        if entry.call is not None and "args" not in entry.broken:
            self._plugins.check(entry.call, entry.args)
        place = ExpressionSite("an argument", around.roots)
        spec = PythonSpec(
            call=entry.call.value if entry.call else "",
            args={n.value: language.json(node, place) for n, node in entry.args or ()},
            secrets=tuple(context.secret(name) for name in entry.secrets or ()),
            cwd=str(context.folder),
            timeout_s=entry.timeout / 1_000 if entry.timeout else 60.0,
        )
        return spec, None


PYTHON = Schema(
    kind="python",
    entry=PythonEntry,
    about="Call a function of a plugin.",
    compiler=PythonCompiler,
    look=None,
)
