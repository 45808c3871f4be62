"""The outline of a payload of which no more is known than one sample."""

from router.expressions.absent import JSON
from router.typing.lattice import ANY, EVERYTHING, LIST, Type, joined, with_kinds


def outlined(sample: JSON) -> Type:
    """
    Which fields the sample has, at every depth; nothing of what they hold.

    Others may come: only a name that is nearly one of these is worth a word.
    """
    if isinstance(sample, dict) and sample:
        fields = {name: outlined(one) for name, one in sample.items()}
        return Type(EVERYTHING, fields=fields, rest=ANY, partial=True)
    if isinstance(sample, list) and sample:
        item = joined([outlined(one) for one in sample])
        # `list[]` would look for lists in its elements, and find anything.
        item = with_kinds(item, item.kinds & ~LIST) if item.partial else item
        return Type(EVERYTHING, item=item, rest=ANY)
    return ANY
