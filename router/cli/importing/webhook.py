"""adnanh/webhook's hooks as a rules file: each hook an endpoint with its path, and one rule."""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from router.cli.importing.conditions import ALWAYS, NEVER, Combined, Conditions, Formula, written
from router.cli.importing.effects import answer_of, shell_of
from router.cli.importing.hooks_file import UNSIGNED, Hook, read_hooks
from router.cli.importing.proofs import HookSecrets, free
from router.cli.importing.request_values import RequestValues
from router.cli.importing.rules_text import Row, block, section
from router.cli.importing.senders import ImportedSender, sender_of
from router.cli.importing.trials import trials_of
from router.cli.importing.trigger_rule import read_trigger
from router.config.spelling import ENDPOINTS_TAKEN
from router.errors import Diagnostic

_SAFE_IN_PATH = "/!$&'()*+,;=:@~-._"


class WebhookFlags(msgspec.Struct, frozen=True):
    """What webhook's own command line says."""

    ip: str = "0.0.0.0"  # noqa: S104 - webhook's default
    port: str | int = 9000
    urlprefix: str = "hooks"
    http_methods: str = ""
    secure: bool = False
    cert: str = "cert.pem"
    key: str = "key.pem"
    template: bool = False


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


def imported(files: Sequence[tuple[str, str]], flags: WebhookFlags) -> ImportedRules:
    """Rules that do what webhook does with these files, each a path and its text."""
    made, listed, found = _Rules(flags), list[Diagnostic](), 0
    for path, text in files:
        report, hooks = read_hooks(text, path, template=flags.template)
        for hook in hooks:
            made.add(hook)
        found += len(hooks)
        listed += report.sorted()
    text = made.text(path for path, _ in files)
    return ImportedRules(text, tuple(listed), made.secrets.variables(), found, len(made.endpoints))


class _Rules(msgspec.Struct):
    """The sections of the file that is being made; `places` are those of all hooks."""

    flags: WebhookFlags
    places: dict[str, str] = {}
    secrets: HookSecrets = msgspec.field(default_factory=HookSecrets)
    providers: dict[str, Row] = {}
    endpoints: dict[str, Row] = {}
    rules: list[Row] = []
    tests: list[Row] = []

    def add(self, hook: Hook) -> None:
        """Take the hook over, if all of it that decides and runs can be said."""
        self._claim(hook)
        trigger = read_trigger(hook)
        values = RequestValues(hook, trigger)
        sender = sender_of(hook, trigger, values, self.flags.http_methods)
        shell, answer, name = shell_of(hook, values), answer_of(hook), self._name(hook.id)
        table = HookSecrets(self.secrets)  # a hook that is left out leaves none behind
        secrets = {leaf: table.name_of(proof, name) for leaf, proof in sender.proofs.items()}
        match = Conditions(hook, values, secrets, sender.hidden).reading(sender.rest).holds
        if match == NEVER and hook.taken:
            hook.refuse(hook.at("trigger-rule"), "webhook never finds this rule true")
        if not hook.taken:
            return
        self.secrets = table
        endpoint = self._endpoint(hook, sender, list(dict.fromkeys(secrets.values())))
        self.endpoints[name] = (endpoint | ({"answer": answer} if answer else {}), hook.place)
        condition = {} if match == ALWAYS else {"match": _listed(match)}
        rule = {"id": name, "from": name, **condition, "actions": {"shell": shell}}
        self.rules.append((rule, hook.place))
        if not hook.get("parse-parameters-as-json"):
            trials = trials_of(hook, name, sender, shell, answer.get("status", 200))
            self.tests += [(trial, "") for trial in trials]

    def text(self, paths: Iterable[str]) -> str:
        """The whole file."""
        flags = self.flags
        ip = f"[{flags.ip}]" if ":" in flags.ip else flags.ip
        tls = {"tls": {"cert": flags.cert, "key": flags.key}} if flags.secure else {}
        lines = [
            f"# Made by `router import webhook` of {', '.join(paths)}.",
            "# `router check` says whether it is right, `router test` what it does.",
            "version: 1",
            "",
            "server:",
            "  # where webhook listened: senders need not be told anything",
            *block({"listen": f"{ip}:{flags.port}", **tls}, 2),
            *section("secrets", self.secrets.rows()),
            *section("providers", self.providers),
            *section("endpoints", self.endpoints),
            *section("rules", self.rules),
            *section("tests", self.tests),
        ]
        return "\n".join(lines) + "\n"

    def _claim(self, hook: Hook) -> None:
        if not hook.id:
            hook.refuse(hook.node, "a hook without an 'id' has no address")
        elif first := self.places.get(hook.id):
            hook.refuse(hook.node, f"the hook '{hook.id}' stands twice, first at {first}")
        self.places.setdefault(hook.id, hook.place)

    def _name(self, id_: str) -> str:
        base = re.sub(r"[^a-z0-9_-]+", "-", id_.lower()).strip("-_") or "hook"
        return free(f"hook-{base}" if base in ENDPOINTS_TAKEN else base, self.endpoints)

    def _endpoint(
        self, hook: Hook, sender: ImportedSender, secrets: Sequence[str]
    ) -> dict[str, Any]:
        prefix = ("/" + self.flags.urlprefix.strip("/")).rstrip("/")
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
            message = f"the hook '{hook.id}' asks for no signature and no token: anybody may run it"
            hint = "give it a token, or accept it with --allow-unsigned"
            hook.differs(hook.at("id"), message, hint, UNSIGNED)
        return found

    def _provider(self, sender: ImportedSender) -> str:
        for name, (known, _) in self.providers.items():
            if known == sender.provider:
                return name
        way, event = sender.provider["verify"], sender.known
        parts = ("webhook", way["scheme"].replace("none", ""), way.get("algorithm", ""))
        name = free("-".join(filter(None, parts)), self.providers)
        comment = "`provider: {}` knows its events too, and what it sends twice"
        self.providers[name] = (sender.provider, comment.format(event[1]) if event else "")
        return name


def _listed(match: Formula) -> str | dict[str, Any] | list[Any]:
    """A condition as a rule writes it."""
    if not isinstance(match, Combined):
        return match
    if match.word == "||":
        return {"any": [written(part) for part in match.parts]}
    return [_listed(part) for part in match.parts]
