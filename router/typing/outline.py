"""The outline of a payload of which no more is known than one sample."""

import re

from router.expressions.absent import JSON
from router.typing.lattice import ANY, EVERYTHING, LIST, Type, joined, with_kinds

_USERS_NAME = re.compile(
    r"(?:metadata|meta|annotations|labels|attributes|variables|args|properties|hidden|tags|values"
    r"|(?:custom|debug)_?data)\Z",
    re.IGNORECASE,
)
"""Ends of the names of objects whose fields the sender's users name."""


def outlined(sample: JSON) -> Type:
    """
    Which fields the sample has, at every depth; nothing of what they hold.

    Others may come: only a name that is nearly one of these is worth a word, and none where users
    name the fields.
    """
    if isinstance(sample, dict) and sample:
        fields = {
            name: ANY if isinstance(one, dict) and _USERS_NAME.search(name) else outlined(one)
            for name, one in sample.items()
        }
        return Type(EVERYTHING, fields=fields, rest=ANY, partial=True)
    if isinstance(sample, list) and sample:
        item = joined([outlined(one) for one in sample])
        # `list[]` would look for lists in its elements, and find anything.
        item = with_kinds(item, item.kinds & ~LIST) if item.partial else item
        return Type(EVERYTHING, item=item, rest=ANY)
    return ANY
