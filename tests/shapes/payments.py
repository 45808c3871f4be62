"""Events of payments, from the types in the sender's own Python library, read and never run."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.shapes.published import Known, Published
from tests.shapes.seen import ANYTHING, OPEN_MAP, Seen, a_list, an_object, plain, together

LIBRARY = "stripe"
_PLAIN = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "Decimal": "string",
    "bool": "boolean",
    "None": "null",
}
_OPEN = {"UntypedStripeObject", "StripeObject", "Dict", "dict", "Any", "object"}
_ABOUT = {
    "account.external_account": ("bank_account", "card"),
    "billing.alert": ("billing.alert_triggered",),
    "customer.source": ("source", "card", "bank_account"),
    "sigma.scheduled_query_run": ("scheduled_query_run",),
    "source.transaction": ("source_transaction",),
    "application_fee.refund": ("fee_refund",),
    "entitlements.active_entitlement_summary": (),
    "financial_connections.authorization": (),
}
"""What events are about whose name does not say it."""
_PAGE = {
    "object": plain("string"),
    "has_more": plain("boolean"),
    "url": plain("string"),
    "total_count": plain("integer"),
}
_SAME_NAME = re.compile(r"issuing_(\w+)")


def published(folders: Sequence[Path]) -> Published:
    """
    All events of `Event.type` with what each is about.

    An endpoint's events are of the API version that it was made with: several versions of the
    library, the newest first, show more fields than one.
    """
    several = [_published(folder) for folder in folders]
    newest = several[0]
    payloads = {
        event.name: together(
            one.payloads[event.name] for one in several if event.name in one.payloads
        )
        for one in several
        for event in one.events
    }
    sources = tuple(source for one in several for source in one.sources)
    return Published(sources, newest.events, {e.name: payloads[e.name] for e in newest.events})


def _published(folder: Path) -> Published:
    library = _Library(folder / "stripe")
    event = library.classes["event"]
    names = library.words(event, "type")
    outside = library.seen_fields(event)
    payloads = {}
    shared: dict[tuple[str, ...], Seen] = {}
    for name in sorted(names):
        about = library.about(name.rpartition(".")[0])
        if about not in shared:
            there = [library.classes[one] for one in about if one in library.classes]
            objects = [library.seen_class(one) for one in there]
            data = {"object": together(objects) if objects else OPEN_MAP}
            data["previous_attributes"] = OPEN_MAP
            shared[about] = an_object(
                {**outside, "account": plain("string"), "data": an_object(data)}
            )
        payloads[name] = shared[about]
    version = next(folder.glob("stripe-*.dist-info")).name.split("-")[1].removesuffix(".dist")
    return Published(
        sources=(f"{LIBRARY} {version} (PyPI)",),
        events=tuple(Known(name, group=_group(name)) for name in sorted(names)),
        payloads=payloads,
    )


def _group(name: str) -> str:
    return re.split(r"[._]", name)[0]


class _Library:
    """The library's resource classes, by what their objects call themselves."""

    def __init__(self, folder: Path) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self._named: dict[tuple[str, str], ast.ClassDef] = {}
        self._imports: dict[int, Mapping[str, tuple[str, str]]] = {}
        self._seen: dict[int, Seen] = {}
        self._open: set[int] = set()
        self._around: Mapping[str, tuple[str, str]] = {}
        for path in sorted(folder.rglob("_*.py")):
            module = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            if not module.startswith(("stripe.v2.", "stripe.params.")):
                self._add(module, ast.parse(path.read_text("utf-8")))

    def _add(self, module: str, tree: ast.Module) -> None:
        imports = {
            one.asname or one.name: (line.module or "", one.name)
            for line in ast.walk(tree)
            if isinstance(line, ast.ImportFrom)
            for one in line.names
        }
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (name := _object_name(node)):
                self.classes[name] = self._named[module, node.name] = node
                own = {node.name: (module, node.name)}
                self._imports |= {id(n): imports | own for n in ast.walk(node)}

    def words(self, found: ast.ClassDef, field: str) -> tuple[str, ...]:
        """The texts of a field that is a `Literal`."""
        annotation = next(a for name, a in _fields(found) if name == field)
        return tuple(sorted(self.seen(annotation, {}).words))

    def about(self, family: str) -> tuple[str, ...]:
        """The names of the objects that events of a family are about."""
        if family in _ABOUT:
            return _ABOUT[family]
        if (issuing := _SAME_NAME.fullmatch(family)) is not None:
            return (f"issuing.{issuing[1]}",)
        return (family if family in self.classes else family.rpartition(".")[2],)

    def seen_class(self, found: ast.ClassDef) -> Seen:
        """A class as an object; one within itself may be anything."""
        key = id(found)
        if key in self._open:
            return ANYTHING
        if key not in self._seen:
            self._open.add(key)
            fields = self.seen_fields(found)
            self._seen[key] = an_object(fields) if fields else OPEN_MAP
            self._open.remove(key)
        return self._seen[key]

    def seen_fields(self, found: ast.ClassDef) -> dict[str, Seen]:
        """The fields of a class, those of the classes within it too."""
        within = {n.name: n for n in found.body if isinstance(n, ast.ClassDef)}
        aliases = _aliases(found)
        return {
            aliases.get(name, name): self.seen(annotation, within)
            for name, annotation in _fields(found)
            if name != "OBJECT_NAME"
        }

    def seen(self, node: ast.expr, within: Mapping[str, ast.ClassDef]) -> Seen:
        """What an annotation allows."""
        if isinstance(node, ast.Constant):  # an annotation in quotes is of the same module
            self._around = self._imports.get(id(node), self._around)
            return self.seen(ast.parse(str(node.value), mode="eval").body, within)
        if isinstance(node, ast.Subscript):
            return self._of(ast.unparse(node.value), node.slice, within)
        name = ast.unparse(node)
        if name in _PLAIN:
            return plain(_PLAIN[name])
        last = name.rpartition(".")[2]
        if last in within:
            return self.seen_class(within[last])
        if last in _OPEN:
            return OPEN_MAP
        there = self._imports.get(id(node), self._around).get(last, ("", ""))
        return self.seen_class(self._named[there]) if there in self._named else ANYTHING

    def _of(self, name: str, inner: ast.expr, within: Mapping[str, ast.ClassDef]) -> Seen:
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        if name == "Literal":
            texts = (part.value for part in parts if isinstance(part, ast.Constant))
            return Seen(frozenset({"string"}), words=frozenset(map(str, texts)))
        if name in ("Optional", "Union"):
            also = [plain("null")] if name == "Optional" else []
            return together([*(self.seen(part, within) for part in parts), *also])
        if name in ("List", "list"):
            return a_list(self.seen(inner, within))
        if name == "ListObject":
            return an_object({**_PAGE, "data": a_list(self.seen(inner, within))})
        # Events never hold the whole object there.
        return plain("string") if name == "ExpandableField" else OPEN_MAP


def _object_name(node: ast.ClassDef) -> str | None:
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == "OBJECT_NAME":
            return ast.literal_eval(line.value) if line.value is not None else None
    return None


def _aliases(node: ast.ClassDef) -> dict[str, str]:
    """Names that are no Python names: `_field_remappings = {"from_": "from"}`."""
    for line in node.body:
        target = line.targets[0] if isinstance(line, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id == "_field_remappings":
            return dict(ast.literal_eval(line.value))
    return {}


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id, line.annotation
