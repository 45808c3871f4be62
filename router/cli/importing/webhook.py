"""adnanh/webhook's hooks as a rules file: each hook an endpoint with its path, and one rule."""

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from urllib.parse import quote

import msgspec

from router.cli.importing.conditions import Conditions
from router.cli.importing.formulas import ALWAYS, NEVER, Every, Formula, Some, every, written
from router.cli.importing.hook_answers import answer_of
from router.cli.importing.hook_commands import shell_of
from router.cli.importing.hook_senders import definition_of, remark_of
from router.cli.importing.hook_trials import ImportedTrials
from router.cli.importing.hooks_file import Hook, HookParameter, read_hooks
from router.cli.importing.proofs import ImportedSender, SecretTable, free, sender_of
from router.cli.importing.request_values import RequestValues
from router.cli.importing.rules_text import block, listing, mapping
from router.cli.importing.trigger_rule import Equals, Fits, Trigger, leaves, read_trigger
from router.config.spelling import ENDPOINTS_TAKEN
from router.errors import Diagnostic

_SAFE_IN_PATH = "/!$&'()*+,;=:@~-._"
Row = tuple[Any, str]


class HooksText(msgspec.Struct, frozen=True):
    """A hooks file as it was read."""

    text: str
    path: str


class WebhookFlags(msgspec.Struct, frozen=True):
    """What webhook's own command line says."""

    listen: str = "0.0.0.0:9000"
    prefix: str = "hooks"
    methods: tuple[str, ...] = ()
    template: bool = False
    cert: str | None = None
    key: str | None = None


class ImportedRules(msgspec.Struct, frozen=True):
    """
    The rules file, what is listed, and how many hooks there were and are. `secrets` are the values
    by the variables that the rules name.
    """

    text: str
    listed: tuple[Diagnostic, ...]
    secrets: dict[str, str]
    found: int
    taken: int


def imported(files: Sequence[HooksText], flags: WebhookFlags) -> ImportedRules:
    """Rules that do what webhook does with these files, as far as they can say it."""
    made = _Rules(flags)
    listed: list[Diagnostic] = []
    found = 0
    for file in files:
        report, hooks = read_hooks(file.text, file.path, template=flags.template)
        for hook in hooks:
            made.add(hook)
        found += len(hooks)
        listed += report.sorted()
    text = made.text([file.path for file in files])
    return ImportedRules(
        text, tuple(listed), made.secrets.values, found=found, taken=len(made.endpoints)
    )


class _Rules:
    """The sections of the file that is being made."""

    def __init__(self, flags: WebhookFlags) -> None:
        self._flags = flags
        self._paths: dict[str, str] = {}
        self.secrets = SecretTable()
        self.providers: dict[str, Row] = {}
        self.endpoints: dict[str, Row] = {}
        self.defines: dict[str, Row] = {}
        self.rules: list[Row] = []
        self.tests: list[Row] = []

    def add(self, hook: Hook) -> None:
        """Take the hook over, if all of it that decides and runs can be said."""
        trigger = read_trigger(hook)
        decoded = _decoded(hook)
        sender = sender_of(hook, trigger)
        whole = _reads_whole_body(hook, trigger)
        values = RequestValues(hook, decoded, whole_body=whole)
        definition = definition_of(hook, sender, self._flags.methods, whole_body=whole)
        shell = shell_of(hook, values)
        answer = answer_of(hook)
        name = self._name(hook.id)
        table = deepcopy(self.secrets)  # a hook that is left out leaves none behind
        secrets = {leaf: table.name_of(hook, one, name) for leaf, one in sender.proofs.items()}
        match = _match(hook, values, sender, secrets)
        self._claim(hook)
        if not hook.taken:
            return
        self.secrets = table
        for (source, key), define in decoded.items():
            root = "payload" if source == "payload" else "query"
            self.defines[define] = (f"parse_json({root}.{key})", "")
        endpoint = self._endpoint(hook, sender, definition, list(dict.fromkeys(secrets.values())))
        self.endpoints[name] = (endpoint | ({"answer": answer} if answer else {}), hook.place)
        condition = {"match": match} if match else {}
        rule = {"id": name, "from": name, **condition, "actions": {"shell": shell}}
        self.rules.append((rule, hook.place))
        if not decoded:
            trials = ImportedTrials(hook, name, sender, definition)
            self.tests += [(trial, "") for trial in trials.made(shell)]

    def text(self, paths: Sequence[str]) -> str:
        """The whole file."""
        flags = self._flags
        server: dict[str, Any] = {"listen": flags.listen}
        if flags.cert:
            server["tls"] = {"cert": flags.cert} | ({"key": flags.key} if flags.key else {})
        lines = [
            f"# Made by `router import webhook` of {', '.join(paths)}.",
            "# `router check` says whether it is right, `router test` what it does.",
            "version: 1",
            "",
            "server:",
            "  # where webhook listened: senders need not be told anything",
            *block(server, 2),
            *mapping("secrets", self.secrets.rows),
            *mapping("providers", self.providers),
            *mapping("endpoints", self.endpoints),
            *mapping("define", self.defines),
            *listing("rules", self.rules),
            *listing("tests", self.tests),
        ]
        return "\n".join(lines) + "\n"

    def _name(self, id_: str) -> str:
        base = re.sub(r"[^a-z0-9_-]+", "-", id_.lower()).strip("-_") or "hook"
        base = f"hook-{base}" if base in ENDPOINTS_TAKEN else base
        return free(base, self.endpoints)

    def _claim(self, hook: Hook) -> None:
        if (first := self._paths.setdefault(hook.id, hook.place)) != hook.place and hook.taken:
            hook.refuse(hook.node, f"the hook '{hook.id}' is already at {first}")

    def _endpoint(
        self, hook: Hook, sender: ImportedSender, definition: dict[str, Any], secrets: Sequence[str]
    ) -> dict[str, Any]:
        prefix = f"/{self._flags.prefix}" if self._flags.prefix else ""
        found: dict[str, Any] = {
            "paths": f"{prefix}/{quote(hook.id, safe=_SAFE_IN_PATH)}",
            "provider": self._provider(definition),
        }
        if secrets:
            found["secrets"] = secrets[0] if len(secrets) == 1 else list(secrets)
        else:
            found |= {"verify": "none", "retention": {"unmatched": "0s"}}
        if sender.allow_from:
            found["allow_from"] = sender.allow_from
        elif not secrets:
            hook.opens()
        return found

    def _provider(self, definition: dict[str, Any]) -> str:
        for name, (known, _) in self.providers.items():
            if known == definition:
                return name
        way = definition["verify"]
        parts = ("webhook", way["scheme"], way.get("algorithm", ""))
        base = "-".join(part for part in parts if part not in ("", "none"))
        name = free(base, self.providers)
        self.providers[name] = (definition, remark_of(definition))
        return name


def _match(
    hook: Hook, values: RequestValues, sender: ImportedSender, secrets: dict[Trigger, str]
) -> str | list[Any] | dict[str, Any] | None:
    if sender.rest is None:
        return None
    conditions = Conditions(hook, values, sender, secrets)
    found = every([conditions.holds(sender.rest)])
    if found == NEVER and hook.taken:
        hook.refuse(hook.get("trigger-rule") or hook.node, "webhook never finds this rule true")
    if found == ALWAYS:
        return None
    return [_item(part) for part in found.parts] if isinstance(found, Every) else _item(found)


def _item(formula: Formula) -> str | dict[str, Any]:
    if isinstance(formula, Some):
        return {"any": [written(part) for part in formula.parts]}
    return written(formula)


def _decoded(hook: Hook) -> dict[tuple[str, str], str]:
    """The definitions that are the JSON within parameters."""
    found = {}
    for given in hook.parameters("parse-parameters-as-json"):
        if given.source not in ("payload", "url") or not given.name.isidentifier():
            hook.refuse(
                given.node,
                "JSON is read within a field of the payload or the query, by a plain name",
            )
        found[given.source, given.name] = f"{given.source}_{given.name}".lower()
    return found


def _reads_whole_body(hook: Hook, trigger: Trigger | None) -> bool:
    """Whether the body is an argument or compared, and nothing else of the payload is read."""
    given: list[HookParameter] = [
        *hook.parameters("pass-arguments-to-command"),
        *hook.parameters("pass-environment-to-command"),
    ]
    for leaf in leaves(trigger) if trigger else ():
        given += [leaf.parameter] if isinstance(leaf, Equals | Fits) else []
    files = hook.parameters("pass-file-to-command")
    sources = {one.source for one in given}
    others = sources | {one.source for one in files}
    return "raw-request-body" in sources and not others & {"payload", "entire-payload"}
