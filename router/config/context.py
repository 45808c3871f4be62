"""What every check of one load shares: the report, the names of the file, and its surroundings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from router.config.files import Files, KeptFiles
from router.config.schema import FileEntry
from router.providers import Provider
from router.suggest import Suggester
from router.yaml_source import (
    Entry,
    EntryKey,
    Node,
    Report,
    Scalar,
    SourceText,
    instead,
    keys_of,
    offsets,
    opening,
    within,
)
from router.yaml_source.credentials import is_secret

NAMING_HINT = (
    "give it a name under 'secrets', as in NAME: {env: VARIABLE}, and change it: files are read"
)
_NAME = re.compile(r"[\w.-]*")


class LoadContext:
    """
    One load of one file.

    `resolved` collects every environment value that was used (None where a default stood in);
    `used_secrets` the secrets that something refers to. `files` has the files beside it, `included`
    the texts of those that were read as part of this one, by name. A `thorough` load keeps in
    `written` where each template stands, by its text.
    `reworked` are the providers of endpoints whose `verify` has keys, by the position of the
    endpoint. `tested`: tests are about to run or are judged, so the files that they need,
    `test_data`, are read. `now` is the time that a file is judged at, if it is.
    """

    def __init__(
        self,
        report: Report,
        file: FileEntry,
        *,
        env: Mapping[str, str],
        dev: bool,
        providers: Mapping[str, Provider],
        suggest: Suggester,
    ) -> None:
        self.report = report
        self.file = file
        self.env = env
        self.dev = dev
        self.providers = providers
        self.suggest = suggest
        self.folder = Path(report.source.path).absolute().parent
        self.resolved: dict[str, str | None] = {}
        self.used_secrets: set[str] = set()
        self.files: Files | None = None
        self.included: Mapping[str, str] = {}
        self.thorough = False
        self.written: dict[str, list[SourceText]] = {}
        self.nullable: set[int] = set()
        self.reworked: dict[int, Provider] = {}
        self.tested = False
        self.now: int | None = None
        self.test_data: set[str] = set()
        # Faults of one scalar share its table: a long template may have thousands.
        self._mapped: tuple[Node, Sequence[int]] = (file.node, [])

    @property
    def kept(self) -> bool:
        """Whether this is a generation that was right once, wherever it is read now."""
        return isinstance(self.files, KeptFiles)

    def error(
        self, code: str, message: str, node: Node | SourceText, hint: str | None = None
    ) -> None:
        """An error at a whole node."""
        self.report.error(code, message, *opening(_node(node)), instead(hint, _node(node)))

    def warning(
        self, code: str, message: str, node: Node | SourceText, hint: str | None = None
    ) -> None:
        """A warning at a whole node."""
        self.report.warning(code, message, *opening(_node(node)), instead(hint, _node(node)))

    def error_within(
        self,
        code: str,
        message: str,
        text: SourceText,
        span: tuple[int, int],
        hint: str | None = None,
        *,
        sure: bool = True,
    ) -> None:
        """An error at some characters of a text's value; a warning if it is not `sure`."""
        if not self.report.full:
            add = self.report.error if sure else self.report.warning
            add(code, message, *self.span(text, span), within(hint, text.node))

    def span(self, text: SourceText, span: tuple[int, int]) -> tuple[int, int]:
        """Offsets within a text's value as offsets of the file."""
        start = self._offset(text.node, span[0])
        if isinstance(text.node, Scalar) and text.node.style in ("'", '"'):  # `''` and `\"` are one
            return start, max(self._offset(text.node, span[1]), start + 1)
        return start, max(self._offset(text.node, max(span[0], span[1] - 1)), start) + 1

    def _offset(self, node: Node, offset: int) -> int:
        if not isinstance(node, Scalar):
            return node.start
        if self._mapped[0] is not node:
            self._mapped = (node, offsets(self.report.source.text, node))
        places = self._mapped[1]
        return places[min(max(offset, 0), len(places) - 1)]

    def unknown(self, code: str, what: str, name: SourceText, known: Iterable[str]) -> None:
        """An error for a name that nothing in the file has."""
        names = list(known)
        if (hint := self.suggest.hint(name.value, names)) is None:
            hint = f"there is no {what} in this file" if not names else _listed(what, names)
        self.error(code, f"no {what} is called '{name.shown}'", name, hint)

    def secret(self, name: SourceText | None) -> str:
        """The name of a secret that must exist."""
        if name is None:
            return ""
        self.used_secrets.add(name.value)
        if (known := self.file.secrets) is None or name.value not in known:
            if is_secret(name.value) or not _NAME.fullmatch(name.value):
                self.report.source.hide(name.node.start, name.node.end)
                message = "this is a secret's value; its name under 'secrets' is expected here"
                self.error("unknown-secret", message, name, NAMING_HINT)
                return ""
            self.unknown("unknown-secret", "secret", name, known.items if known else ())
        return name.value

    def one_of(self, code: str, entry: Entry, names: tuple[str, ...] = ()) -> str | None:
        """
        The single one of these keys (left out: of those its class declares) that the entry has; an
        error if none or several.
        """
        names = names or next(rule.keys for rule in entry.key_rules if rule.how == "one")
        given = [n for n in names if entry.has(n)]
        if len(given) == 1:
            return given[0]
        if not given and entry.broken:
            return None
        listed = ", ".join(f"'{n}'" for n in names)
        found = "has none" if not given else "has " + " and ".join(f"'{g}'" for g in given)
        self.error(
            code,
            f"{entry.called} needs exactly one of {listed}, but {found}",
            entry.key_at(given[1]) if given else entry.node,
        )
        return None

    def above_zero(self, entry: Entry) -> None:
        """Report those numbers that are zero or less, and that the class says must not be."""
        for key in _above_zero(type(entry)):
            if (value := getattr(entry, key.field)) is not None and value <= 0:
                self.error("bad-value", f"'{key.name}' must be above zero", entry.at(key.name))

    def path(self, text: SourceText | None) -> str | None:
        """A file beside the rules file, or an absolute one."""
        return None if text is None else str(self.folder / text.value)

    def variable(
        self, name: SourceText, default: SourceText | None, *, kept: bool = True
    ) -> str | None:
        """The value of an environment variable, its default, or None; `resolved` if `kept`."""
        value = self.env.get(name.value)
        if kept:
            self.resolved[name.value] = value
        return default.value if value is None and default is not None else value


@cache
def _above_zero(kind: type[Entry]) -> tuple[EntryKey, ...]:
    return tuple(key for key in keys_of(kind) if key.limits.gt == 0)


def _node(node: Node | SourceText) -> Node:
    return node.node if isinstance(node, SourceText) else node


def _listed(what: str, names: list[str]) -> str:
    shown = ", ".join(names[:8])
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    plural = "retry policies" if what == "retry policy" else f"{what}s"
    return f"known {plural}: {shown}{more}"
