"""adnanh/webhook's hooks as a rules file: each hook an endpoint with its path, and one rule."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
import yaml

from router.cli.importing.conditions import ALWAYS, NEVER, Conditions, listed
from router.cli.importing.effects import HookTrials, answer_of, shell_of
from router.cli.importing.hooks_file import Hook, HookText, read_hooks
from router.cli.importing.request_values import RequestValues
from router.cli.importing.sender import ImportedSender
from router.cli.importing.trigger_rule import read_trigger
from router.config.spelling import ENDPOINTS_TAKEN
from router.errors import Diagnostic

_SAFE_IN_PATH = "/!$&'()*+,;=:@~-._"


class WebhookFlags(msgspec.Struct, frozen=True):
    """What webhook's own command line says."""

    ip: str
    port: str | int
    urlprefix: str
    http_methods: str
    secure: bool
    cert: str
    key: str
    template: bool


class ImportedRules:
    """
    Rules that do what webhook does with these files, each a path and its text: `text`, what is
    `listed`, how many hooks were `found`; by `secrets`, kind and text, their names and places.
    """

    def __init__(self, files: Sequence[tuple[str, str]], flags: WebhookFlags) -> None:
        self._flags, self._places = flags, dict[str, str]()
        self._secrets = dict[tuple[str, str], tuple[str, str]]()
        self._providers, self._endpoints = dict[str, Row](), dict[str, Row]()
        self._rules, self._tests = list[Row](), list[Row]()
        self.listed, self.found = list[Diagnostic](), 0
        for path, text in files:
            report, hooks = read_hooks(text, path, template=flags.template)
            for hook in hooks:
                self._add(hook)
            self.found += len(hooks)
            self.listed += report.sorted()
        self.text = self._written(path for path, _ in files)

    @property
    def taken(self) -> int:
        """How many hooks are in the rules."""
        return len(self._endpoints)

    @property
    def secrets(self) -> dict[str, str]:
        """The values that the files hold, by the variables that the rules name."""
        return {
            _variable(name): text for (kind, text), (name, _) in self._secrets.items() if not kind
        }

    def _add(self, hook: Hook) -> None:
        """Take the hook over, if all of it that decides and runs can be said."""
        self._claim(hook)
        trigger = read_trigger(hook)
        values = RequestValues(hook, trigger)
        sender = ImportedSender(hook, trigger, values, self._flags.http_methods)
        shell, answer, name = shell_of(hook, values), answer_of(hook), self._name(hook.id)
        table = dict(self._secrets)  # a hook that is left out leaves none behind
        proofs = {
            leaf: _named(table, proof.secret, hook, name) for leaf, proof in sender.proofs.items()
        }
        match = Conditions(hook, values, proofs, sender.hidden).reading(sender.rest).holds
        if match == NEVER and hook.taken:
            hook.note(hook.trigger_rule or hook.node, "never-true")
        if not hook.taken:
            return
        self._secrets, place = table, hook.place_of(hook.node)
        endpoint = self._endpoint(hook, sender, list(dict.fromkeys(proofs.values())))
        self._endpoints[name] = (endpoint | ({"answer": answer} if answer else {}), place)
        condition = {} if match == ALWAYS else {"match": listed(match)}
        rule = {"id": name, "from": name, **condition, "actions": {"shell": shell}}
        self._rules.append((rule, place))
        if not hook.parse_parameters_as_json:
            trials = HookTrials(hook, sender).made(name, shell["argv"], answer.get("status", 200))
            self._tests += [(trial, "") for trial in trials]

    def _written(self, paths: Iterable[str]) -> str:
        """The whole file."""
        flags = self._flags
        ip = f"[{flags.ip}]" if ":" in flags.ip else flags.ip
        tls = {"tls": {"cert": flags.cert, "key": flags.key}} if flags.secure else {}
        secrets = {
            name: ({kind or "env": text if kind else _variable(name)}, place)
            for (kind, text), (name, place) in self._secrets.items()
        }
        lines = [
            f"# Made by `router import webhook` of {', '.join(paths)}.",
            "# `router check` says whether it is right, `router test` what it does.",
            "version: 1",
            "",
            "server:",
            "  # where webhook listened: senders need not be told anything",
            *block({"listen": f"{ip}:{flags.port}", **tls}, 2),
            *section("secrets", secrets),
            *section("providers", self._providers),
            *section("endpoints", self._endpoints),
            *section("rules", self._rules),
            *section("tests", self._tests),
        ]
        return "\n".join(lines) + "\n"

    def _claim(self, hook: Hook) -> None:
        if not hook.id:
            hook.note(hook.node, "no-id")
        elif first := self._places.get(hook.id):
            hook.note(hook.node, "twice", id=hook.id, first=first)
        self._places.setdefault(hook.id, hook.place_of(hook.node))

    def _name(self, id_: str) -> str:
        base = re.sub(r"[^a-z0-9_-]+", "-", id_.lower()).strip("-_") or "hook"
        return _free(f"hook-{base}" if base in ENDPOINTS_TAKEN else base, self._endpoints)

    def _endpoint(
        self, hook: Hook, sender: ImportedSender, secrets: Sequence[str]
    ) -> dict[str, Any]:
        prefix = ("/" + self._flags.urlprefix.strip("/")).rstrip("/")
        found: dict[str, Any] = {
            "paths": f"{prefix}/{quote(hook.id, safe=_SAFE_IN_PATH)}",
            "provider": self._provider(sender),
        }
        if secrets:
            found["secrets"] = secrets[0] if len(secrets) == 1 else secrets
        else:
            found |= {"verify": "none", "retention": {"unmatched": "0s"}}
        if sender.allow_from:
            found["allow_from"] = sender.allow_from
        elif not secrets:
            hook.note(hook.id.node, "unsigned", id=hook.id)
        return found

    def _provider(self, sender: ImportedSender) -> str:
        for name, (known, _) in self._providers.items():
            if known == sender.provider:
                return name
        way, event = sender.provider["verify"], sender.known
        parts = ("webhook", way["scheme"].replace("none", ""), way.get("algorithm", ""))
        name = _free("-".join(filter(None, parts)), self._providers)
        comment = "`provider: {}` knows its events too, and what it sends twice"
        self._providers[name] = (sender.provider, comment.format(event[1]) if event else "")
        return name


def _named(
    table: dict[tuple[str, str], tuple[str, str]], secret: HookText, hook: Hook, base: str
) -> str:
    """The name of this secret, kept under one like `base`; equal secrets share a name."""
    stem = re.sub(r"\W", "_", base if base[0].isalpha() else f"hook_{base}")
    fresh = _free(stem, [name for name, _ in table.values()])
    return table.setdefault((secret.kind, secret), (fresh, hook.place_of(secret.node)))[0]


def _variable(name: str) -> str:
    return f"{name.upper()}_SECRET"


def _free(base: str, taken: Container[Any]) -> str:
    """The name, or the first one with a number behind it that is free."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


WIDTH = 100
_SHORT = 80
_MAP, _LIST, _TEXT = (f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))
_NOT_IN_CORE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
_PLAIN = re.compile(r"[\w/.=-]+(?: [\w/.=-]+)*")
"""Texts that stand between brackets as they are."""
Row = tuple[Any, str]
"""A value with its comment, which may be empty."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML 1.2; what is short and plain stands on one line."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's
        first: [row for row in rows if row[0] not in _NOT_IN_CORE or first in "tTfF"]
        for first, rows in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's
        return super().increase_indent(flow, indentless=False)

    def represent_data(self, data: Any) -> yaml.Node:
        """A text between double quotes where it is easier to read so; short values on one line."""
        if isinstance(data, dict):
            return self.represent_mapping(_MAP, data.items(), _short(data))
        if isinstance(data, list):
            return self.represent_sequence(_LIST, data, _short(data))
        if not isinstance(data, str):
            return super().represent_data(data)
        double = _double(data) and not self.analyze_scalar(data).allow_block_plain
        return self.represent_scalar(_TEXT, str(data), '"' if double else None)


def _short(value: Any) -> bool:
    return len(str(value)) < _SHORT and _plain(value)


def _plain(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_plain, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, str) or bool(_PLAIN.fullmatch(value)) or _double(value)


def _double(text: str) -> bool:
    """Whether it is easier to read between double quotes."""
    return "'" in text and text.isprintable() and not set(text) & {'"', "\\"}


def block(value: Any, indent: int = 0) -> list[str]:
    """The lines of a value."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    lines = text.removesuffix("...\n").splitlines()  # which ends a text that stands alone
    return [" " * indent + line if line else "" for line in lines]


def section(title: str, rows: Mapping[str, Row] | Sequence[Row]) -> list[str]:
    """A section: a list, or values by their names; none without rows."""
    lines = ["", f"{title}:"] if rows else []
    named = rows.items() if isinstance(rows, Mapping) else ((None, row) for row in rows)
    for name, (value, comment) in named:
        lines += [f"  # {line}" for line in comment.splitlines()]
        if name is None:
            lines += block([value], 2)
            continue
        (key,), (first, *more) = block(name, 2), block(value, 4)
        lines += [f"{key}:", first, *more] if more else [f"{key}: {first.lstrip()}"]
    return lines
