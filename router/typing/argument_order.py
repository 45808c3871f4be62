"""Arguments that stand in each other's places."""

from collections.abc import Sequence

from router.expressions.nodes import Node, path_of
from router.expressions.signatures import Function
from router.suggest import FixHint
from router.typing.lattice import PRESENT, TEXT, Type
from router.typing.narrow import allowed
from router.typing.run import TypeWalk

_TEXT_FIRST = frozenset({"starts_with", "ends_with", "glob", "split"})


def check_order(run: TypeWalk, node: Node, kinds: list[Type]) -> None:
    """A text that is searched for in the place of the one to search, and the other way round."""
    first, second = node.children[:2]
    if not _is_text(first) or second.kind == "literal" or not _is_read(second, kinds[1]):
        return
    joined = node.value == "contains" and kinds[1].format in ("joined", "email", "url", "git_ref")
    if node.value not in _TEXT_FIRST and not joined:
        return
    one, other = run.source(first), run.source(second)
    _swap(
        run,
        node,
        f"{node.value}() looks for its second argument in the first: here for {other} in {one}",
        (second, first),
    )


def check_replace(run: TypeWalk, node: Node, kinds: list[Type]) -> None:
    """`replace('-', '', path)`: the text to change stands last."""
    first, second, third = node.children
    if _is_text(first) and _is_text(second) and _is_read(third, kinds[2]):
        said = run.source(first)
        message = f"replace() changes its first argument, which is {said} here"
        _swap(run, node, message, (third, first, second))


def check_default(run: TypeWalk, node: Node, fallback: Type) -> None:
    """`default('none', path)`: what is always there needs no fallback."""
    first, second = node.children
    if first.kind == "literal" and first.value is not None and _is_read(second, fallback):
        said = run.source(first)
        message = f"default() gives its first argument, and {said} is always there"
        _swap(run, node, message, (second, first))


def are_swapped(run: TypeWalk, function: Function, node: Node, kinds: Sequence[Type]) -> bool:
    """Whether each of two arguments fits only in the other's place, which is then found."""
    refers = any(child.kind == "expref" for child in node.children)
    if len(kinds) != 2 or refers or run.found_within(node):
        return False
    wanted = [allowed(function.parameter(at).types) & PRESENT for at in (0, 1)]
    given = [kind.kinds & PRESENT for kind in kinds]
    straight = any(bits & want for bits, want in zip(given, wanted, strict=True))
    crossed = all(bits and not bits & ~want for bits, want in zip(given, wanted[::-1], strict=True))
    if straight or not crossed:
        return False
    first, second = node.children
    swapped = f"{function.name}({{}}, {{}})"
    written = [run.text[one.start : one.end] for one in (second, first)]
    said = swapped.format(run.source(second), run.source(first))
    hint = FixHint(f"swap them: {said}", swapped.format(*written))
    run.note("wrong-argument", f"the arguments of {function.name}() are swapped", node, hint)
    return True


def _is_text(node: Node) -> bool:
    return node.kind == "literal" and isinstance(node.value, str)


def _is_read(node: Node, kind: Type) -> bool:
    """Whether it is a text of the event."""
    path = path_of(node)
    return path is not None and path[1][:1] != ("var",) and bool(kind.kinds & TEXT)


def _swap(run: TypeWalk, node: Node, message: str, order: Sequence[Node]) -> None:
    right = f"{node.value}({', '.join(map(run.source, order))})"
    run.warn("swapped-arguments", message, node, f"swap them: {right}")
