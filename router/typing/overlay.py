"""Two shapes of one payload: what somebody wrote of it, over what the sender publishes."""

from collections.abc import Mapping

import msgspec

from router.typing.lattice import NOTHING, OBJECT, PRESENT, Type, join, with_kinds


def overlaid(written: Type, published: Type) -> Type:
    """
    The fields of both. Where both have one, the written says what it is, if they do not differ.
    Where users name fields beside the sender's (`rest`), examples hold theirs: only the written
    fields are the sender's.

    Only the published one knows of some fields, and of some values; the written one says more of
    what texts hold (`money`, `joined`).
    """
    if written.is_any or published.is_any:
        there, other = (published, written) if written.is_any else (written, published)
        return with_kinds(there, there.kinds | other.kinds & NOTHING)
    if not written.kinds & published.kinds & PRESENT:
        return join(written, published)
    return msgspec.structs.replace(
        written,
        kinds=written.kinds | published.kinds,
        known=written.known | published.known if written.known else written.known,
        item=_item(written, published),
        fields=_fields(written, published),
        rest=published.rest if written.rest is None else written.rest,
    )


def _item(written: Type, published: Type) -> Type | None:
    if written.item is None or published.item is None:
        return published.item if written.item is None else written.item
    return overlaid(written.item, published.item)


def _fields(written: Type, published: Type) -> Mapping[str, Type]:
    if not written.kinds & published.kinds & OBJECT:
        return written.fields or published.fields
    more = {
        name: overlaid(kind, published.fields[name]) if name in published.fields else kind
        for name, kind in written.fields.items()
    }
    return more if written.partial else {**published.fields, **more}
