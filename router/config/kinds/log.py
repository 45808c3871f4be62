"""`log:` of an action: a template."""

from functools import partial

from router.config.kinds.base import CompileContext, Compiled, Schema, Surroundings
from router.config.language import ExpressionSite
from router.kinds.log import LogSpec
from router.yaml_source import SourceText


def _compiled(file: CompileContext, text: SourceText, around: Surroundings) -> Compiled:
    message = file.template(text, ExpressionSite("a log line", around.roots, null=""))
    # Without a template its fault has been reported, and the file is refused.
    return LogSpec(message), None  # type: ignore[arg-type]


LOG = Schema(
    kind="log",
    entry=SourceText,
    about="Write one line to the log; a template.",
    compiler=lambda file: partial(_compiled, file),
    look=None,
    examples=("{{ payload.name }} is paid",),
)
