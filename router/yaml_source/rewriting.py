"""Answers of hints as they must be written into a YAML file, whatever the quoting there."""

from router.suggest import FixHint
from router.yaml_source.nodes import Node, Scalar


def instead(hint: str | None, node: Node) -> str | None:
    """The hint of a whole scalar: its answer keeps the quotes; a block has none."""
    if not isinstance(hint, FixHint) or hint.span is not None:
        return hint
    if not isinstance(node, Scalar) or node.style in _BLOCKS:
        return str(hint)
    return hint.writing(f"{node.style}{_escaped(hint.text, node.style)}{node.style}")


def within(hint: str | None, node: Node) -> str | None:
    """The hint of a part of a scalar."""
    if not isinstance(hint, FixHint):
        return hint
    if not isinstance(node, Scalar) or "\n" in hint.text:
        return str(hint)
    return hint.writing(_escaped(hint.text, node.style))


_BLOCKS = ("|", ">")


def _escaped(text: str, style: str) -> str:
    if style == '"':
        return text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("'", "''") if style == "'" else text
