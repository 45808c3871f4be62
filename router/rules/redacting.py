"""What `redact` of an endpoint takes out of a delivery, and which expressions read that."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from router.expressions import Expression
from router.expressions import compile as expression
from router.expressions.field_paths import FieldPath, covers, field_path, paths_read
from router.expressions.nodes import Node
from router.expressions.trace import Leaf
from router.model.delivery import BLANKED, REDACTED, Delivery, Redaction, as_request
from router.model.packed import unpacked
from router.model.settings import Endpoint, Redact
from router.providers import Provider, Reading
from router.rules.ruleset import Ruleset

Defines = Mapping[str, Expression]


class Taken(NamedTuple):
    """A delivery without the values, known once more here, and as it was read then, if it was."""

    delivery: Delivery
    values: frozenset[str]
    read: Reading | None


def is_redacted(delivery: Delivery, redact: Redact) -> bool:
    """Whether all that `redact` names was taken out of it before."""
    mark = delivery.redacted
    return mark is not None and {*redact.fields} <= {*mark.paths}


def taken_out(
    delivery: Delivery, redact: Redact, provider: Provider, at: int, read: Reading | None = None
) -> Taken:
    """
    A delivery as it is stored from now on (`at`, wall time), not packed. The digest of its mark is
    that of the body as it came first. `read`: as it was read before.
    """
    mark = delivery.redacted or Redaction(at, hashlib.sha256(delivery.body).hexdigest())
    delivery = unpacked(delivery)
    left, values, whole, again = provider.redacted(as_request(delivery), redact.paths, read)
    paths = [*mark.paths, *redact.fields, *(["payload"] if whole else [])]
    mark = msgspec.structs.replace(mark, at=at, paths=tuple(dict.fromkeys(paths)))
    flags = [*delivery.flags, REDACTED, *([BLANKED] if whole else [])]
    return Taken(
        msgspec.structs.replace(
            delivery,
            query=left.query_string.decode("latin-1"),
            headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in left.headers),
            body=left.body,
            flags=tuple(dict.fromkeys(flags)),
            redacted=mark,
        ),
        values,
        again,
    )


def reads(tree: Node, defines: Defines) -> frozenset[FieldPath]:
    """The fields that an expression reads, those of the definitions that it names included."""
    found: set[FieldPath] = set()
    done: set[str] = set()
    pending = [tree]
    while pending:
        for path in paths_read(pending.pop()):
            name = str(path[1]) if path[0] == "def" and len(path) > 1 else None
            if name is None:
                found.add(path)
            elif name in defines and name not in done:
                done.add(name)
                pending.append(defines[name].tree)
    return frozenset(found)


def lost(paths: Iterable[FieldPath], read: Iterable[FieldPath]) -> list[FieldPath]:
    """Of what is read, that which is taken out with these paths."""
    taken = [*paths]
    return [one for one in read if any(covers(path, one) for path in taken)]


class Hidden:
    """
    What a ruleset must not store as it is, since it would hold what is redacted: dedupe keys by
    endpoint, and the groups of rules by (endpoint, rule). They are known by their digests.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        redacting = [one for one in ruleset.endpoints.values() if one.redact is not None]
        grouped = [(rule, rule.concurrency) for rule in ruleset.rules if rule.concurrency]
        self.keys = frozenset(one.name for one in redacting if _hides_key(ruleset, one))
        self.groups = frozenset(
            (one.name, rule.id)
            for one in redacting
            for rule, group in grouped
            if rule.takes(one.name) and _holds(one, reads(group.value.tree, ruleset.defines))
        )


def _holds(endpoint: Endpoint, read: Iterable[FieldPath]) -> bool:
    """Whether the value of what is read may hold something that is redacted."""
    paths = () if endpoint.redact is None else endpoint.redact.paths
    return any(covers(path, one) or covers(one, path) for one in read for path in paths)


def _hides_key(ruleset: Ruleset, endpoint: Endpoint) -> bool:
    if endpoint.dedupe.mode == "key" and (key := ruleset.dedupe_keys.get(endpoint.name)):
        return _holds(endpoint, reads(key.tree, ruleset.defines))
    number = ruleset.providers[endpoint.provider].definition.id
    if endpoint.dedupe.mode != "id" or number is None:
        return False
    return _holds(endpoint, [("payload", *one.split(".")) for one in number.paths])


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
