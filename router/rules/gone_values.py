"""Which conditions read what was taken out of a delivery since they were decided."""

from functools import lru_cache

import msgspec

from router.expressions import compile as expression
from router.expressions.field_paths import FieldPath, field_path
from router.expressions.trace import Leaf
from router.model.delivery import Redaction
from router.rules.redacting import Defines, lost, reads

GONE = "decided on a value that is no longer here"


class GoneValues:
    """The fields that a delivery no longer has, as `redact` named them."""

    def __init__(self, mark: Redaction | None, defines: Defines) -> None:
        self._defines = defines
        self._fields = {} if mark is None else {text: _path(text) for text in mark.paths}

    def fields(self, leaf: Leaf) -> tuple[str, ...]:
        """Those that a leaf reads."""
        if not self._fields:
            return ()
        tree = expression(leaf.text).tree if leaf.node is None else leaf.node
        read = reads(tree, self._defines)
        return tuple([text for text, path in self._fields.items() if lost([path], read)])

    def without(self, leaf: Leaf) -> Leaf:
        """The leaf, if it reads any: what stands there now says nothing of what was decided."""
        if not self.fields(leaf):
            return leaf
        return msgspec.structs.replace(leaf, verdict="not evaluated", reason=GONE, found=())


@lru_cache
def _path(text: str) -> FieldPath:
    return field_path(expression(text).tree) or (text,)
