"""`actions:` of a rule: kinds, addresses, bodies, and what may stand where."""

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

from router.config import targets as addresses
from router.config.chains import Chains
from router.config.context import LoadContext
from router.config.dispatches import Dispatches
from router.config.language import ExpressionSite, Language
from router.config.plugins import Plugins
from router.config.schema import (
    ActionEntry,
    HttpEntry,
    PythonEntry,
    RetryEntry,
    ShellEntry,
    ShellLimitsEntry,
)
from router.config.settings import NAME, VARIABLE, above_zero, chosen_retry, shape
from router.config.shared import SharedActions, Use
from router.config.units import statuses
from router.expressions import Template
from router.model.job import ActionKind
from router.model.retry import NONE, SHORT, STANDARD, RetryPolicy
from router.model.settings import Api, ShellLimits, Target, Tls
from router.rules.specs import CompiledAction, HttpSpec, LogSpec, PythonSpec, ShellSpec
from router.yaml_source import Scalar, SourceText, Table

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HTTP_TIMEOUT_S = 30.0
SHELL_TIMEOUT_S = 600.0
PYTHON_TIMEOUT_S = 60.0
_KINDS = ("http", "shell", "python", "log", "repository_dispatch")
_BODIES = ("json", "form", "text", "body")
_DEFAULT_RETRY = {"http": STANDARD, "shell": NONE, "python": SHORT, "log": NONE}
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_AUTHORITY = re.compile(r"https?://[^/?#{]*[/?#]", re.IGNORECASE)

Pairs = tuple[tuple[str, Template], ...]


class Surroundings(msgspec.Struct, frozen=True):
    """
    What a rule's actions are compiled with; `roots` are those its endpoints offer, `sources` the
    endpoints that it names.
    """

    rule: str
    roots: frozenset[str]
    retry: RetryPolicy | None
    sources: tuple[str, ...] = ()


class ActionCompiler:
    """Compiles the actions of every rule against one file's targets and policies."""

    def __init__(
        self,
        language: Language,
        targets: Mapping[str, Target],
        policies: Mapping[str, RetryPolicy],
        apis: Mapping[str, Api],
    ) -> None:
        self.context: LoadContext = language.context
        self.language = language
        self.targets = targets
        self.policies = policies
        self._target_headers: dict[tuple[str, frozenset[str]], addresses.Headers] = {}
        self._plugins = Plugins(self.context)
        self.shared = SharedActions(language)
        self._dispatches = Dispatches(language, apis)

    def compile(
        self, entries: list[ActionEntry], around: Surroundings
    ) -> tuple[CompiledAction, ...]:
        """The actions of one rule in the order of the file."""
        found: dict[str, CompiledAction] = {}
        chains = Chains(self.context, entries)
        for entry in entries:
            action = self._chained(entry, around, chains)
            if action is None:
                continue
            if action.id in found:
                self._twice(entry, action.id)
            found[action.id] = action
        return tuple(found.values())

    def _chained(
        self, entry: ActionEntry, around: Surroundings, chains: Chains
    ) -> CompiledAction | None:
        """An action with what it waits for; only then it can read `results`."""
        self.language.results = chains.results(entry)
        action = self._action(entry, around)
        place = ExpressionSite("'when'", around.roots)
        when = None if entry.when is None else self.language.expression(entry.when, place)
        self.language.results = None
        after = chains.after(entry)
        if action is None or (when is None and not after):
            return action
        return msgspec.structs.replace(action, after=after, when=when)

    def check_unused(self, roots: frozenset[str]) -> None:
        """Find the faults of shared actions that no rule uses, as if any rule might."""
        around = Surroundings("", roots, None)
        for use in self.shared.unused():
            self.shared.alone(use, lambda use=use: self._step(use, around))  # type: ignore[misc]

    def _twice(self, entry: ActionEntry, name: str) -> None:
        hint = None if entry.id else "give each an 'id'; an omitted id is the action's kind"
        node = entry.id.node if entry.id else entry.node
        self.context.error(
            "duplicate-action", f"this rule has two actions with the id '{name}'", node, hint
        )

    def _action(self, entry: ActionEntry, around: Surroundings) -> CompiledAction | None:
        if entry.id is not None:
            shape(self.context, entry.id, NAME, "an action")
        if entry.broken & {*_KINDS, "use"}:
            return None
        if self.context.one_of("action-kind", entry, (*_KINDS, "use")) is None:
            return None
        use = self.shared.used_by(entry, around.roots)
        if use is None:
            return None
        return self.shared.within(use, around.rule, entry, lambda: self._step(use, around))

    def _step(self, use: Use, around: Surroundings) -> CompiledAction | None:
        entry = use.entry
        kind = self.context.one_of("action-kind", entry, _KINDS) if use.shared else _kind(entry)
        if kind is None or entry.broken & set(_KINDS):
            return None
        name = entry.id.value if entry.id else kind
        kind = "http" if kind == "repository_dispatch" else kind
        spec, target = self._spec(entry, around)
        return CompiledAction(
            id=name,
            kind=cast("ActionKind", kind),
            spec=spec,
            target=target or f"{around.rule}/{name}",
            retry=self._retry(entry.retry, around, kind),
            on_interrupt=entry.on_interrupt or "rerun",
            given=use.given,
        )

    def _retry(self, entry: RetryEntry | None, around: Surroundings, kind: str) -> RetryPolicy:
        chosen = chosen_retry(self.context, entry, self.policies)
        return chosen or around.retry or _DEFAULT_RETRY[kind]

    def _spec(
        self, entry: ActionEntry, around: Surroundings
    ) -> tuple[HttpSpec | ShellSpec | PythonSpec | LogSpec, str | None]:
        if entry.http is not None:
            return self._http(entry.http, around)
        if entry.shell is not None:
            return self._shell(entry.shell, around), None
        if entry.python is not None:
            return self._python(entry.python, around), None
        if entry.repository_dispatch is not None:
            dispatch = entry.repository_dispatch
            return self._dispatches.compile(dispatch, around.roots, around.sources)
        message = self._template(entry.log, ExpressionSite("a log line", around.roots))
        return LogSpec(message), None  # type: ignore[arg-type]

    def _template(self, text: SourceText | None, place: ExpressionSite) -> Template | None:
        return None if text is None else self.language.template(text, place)

    def _pairs(self, table: Table[SourceText] | None, place: ExpressionSite) -> Pairs:
        found = ((name.value, self._template(text, place)) for name, text in table or ())
        return tuple((name, template) for name, template in found if template is not None)

    # -- http -----------------------------------------------------------------------------------

    def _http(self, entry: HttpEntry, around: Surroundings) -> tuple[HttpSpec, str | None]:
        entry = _long_form(entry)
        self._address_keys(entry)
        above_zero(self.context, entry.timeout, entry.at("timeout"), "timeout")
        target, url, name = self._place_of_call(entry, around)
        signed = addresses.sign(self.context, entry.sign) or (target.sign if target else None)
        addresses.not_signed_twice(self.context, entry.headers, signed)
        kind, body = self._body(entry, around)
        roots = around.roots
        return HttpSpec(
            target=target,
            url=url,
            method=self._method(entry.method),
            path=self._template(entry.path, ExpressionSite("a path", roots)),
            query=self._pairs(entry.query, ExpressionSite("a query", roots, "any")),
            headers=self._headers(entry, target, roots),
            body_kind=kind,
            body=body,
            accept=self._accept(entry.accept),
            auth=addresses.auth(self.context, entry.auth) or (target.auth if target else None),
            tls=self._tls(entry, target),
            sign=signed,
            timeout_s=_timeout(entry.timeout, target.timeout_s if target else HTTP_TIMEOUT_S),
            forward_headers=self._forwarded(entry),
        ), name

    def _tls(self, entry: HttpEntry, target: Target | None) -> Tls | None:
        url = entry.url.value if entry.url else target.url if target else None
        return addresses.tls(self.context, entry.tls, url) or (target.tls if target else None)

    def _address_keys(self, entry: HttpEntry) -> None:
        if entry.short is None and not entry.broken & {"target", "url"}:
            self.context.one_of("exactly-one", entry, ("target", "url"))
        if entry.path is not None and entry.url is not None:
            message = "'path' is appended to a target's address; with 'url' write it there"
            self.context.error("path-without-target", message, entry.key_at("path"))

    def _place_of_call(
        self, entry: HttpEntry, around: Surroundings
    ) -> tuple[Target | None, Template | None, str | None]:
        if entry.target is not None:
            target = self.targets.get(entry.target.value)
            if target is None and entry.target.value not in (self.context.file.targets or ()):
                self.context.unknown("unknown-target", "target", entry.target, self.targets)
            return target, None, entry.target.value
        if entry.url is None:
            return None, None, None
        url = self._template(entry.url, ExpressionSite("a url", around.roots, "whole"))
        return None, url, self._limit_name(entry.url, url) if url else None

    def _limit_name(self, text: SourceText, url: Template) -> str | None:
        """The unnamed target of a bare address; its scheme and host never hold a template."""
        if url.whole is not None and url.roots == {"secret"}:
            return "secret:" + ",".join(sorted(field for _, field in url.uses))
        literal = url.parts[0] if url.parts and isinstance(url.parts[0], str) else ""
        dynamic = len(url.parts) > 1 or url.whole is not None
        if dynamic and not _AUTHORITY.match(literal):
            message = "scheme and host of a url cannot come from a template"
            hint = "name a target whose url comes from env or a secret"
            self.context.error("template-not-here", message, text, hint)
            return None
        parts = addresses.checked_url(self.context, text, literal)
        return addresses.limit_name(parts) if parts else None

    def _method(self, text: SourceText | None) -> str:
        if text is None:
            return "POST"
        if text.value not in METHODS:
            found = text.value.upper() if text.value.upper() in METHODS else None
            hint = f"did you mean '{found}'?" if found else f"known: {', '.join(METHODS)}"
            self.context.error("unknown-value", f"'{text.value[:40]}' is not a method", text, hint)
        return text.value

    def _headers(
        self, entry: HttpEntry, target: Target | None, roots: frozenset[str]
    ) -> addresses.Headers:
        place = ExpressionSite("a header", roots, "any")
        own = addresses.headers(self.language, entry.headers, place)
        if target is None or not target.headers:
            return own
        key = (target.name, roots)
        if key not in self._target_headers:
            table = self.context.file.targets
            held = table.items[target.name][1] if table else None
            given = held.headers if held else None
            self._target_headers[key] = addresses.headers(self.language, given, place)
        return addresses.merged(self._target_headers[key], own)

    def _forwarded(self, entry: HttpEntry) -> tuple[str, ...]:
        """The sender's headers to pass on, in lower case; never those of the connection or ours."""
        for text in entry.forward_headers or ():
            if not addresses.forwardable(text.value):
                message = f"the header '{text.value[:40]}' cannot be forwarded"
                hint = "headers of the connection, credentials and the router's own stay here"
                self.context.error("bad-header", message, text, hint)
        return tuple(text.value.lower() for text in entry.forward_headers or ())

    def _body(
        self, entry: HttpEntry, around: Surroundings
    ) -> tuple[Literal["default", "json", "form", "text", "body"], Any]:
        place = ExpressionSite("a body", around.roots, "any")
        given = [kind for kind in _BODIES if getattr(entry, kind) is not None]
        if len(given) > 1:
            message = f"'{given[0]}' and '{given[1]}' cannot both be the body"
            self.context.error("two-bodies", message, entry.key_at(given[1]))
        if entry.json is not None:
            return "json", self.language.json(entry.json, place)
        if entry.form is not None:
            return "form", self._pairs(entry.form, place)
        if entry.text is not None:
            return "text", self._template(entry.text, place)
        if entry.body is not None:
            return "body", self._template(entry.body, place)
        return "default", None

    def _accept(self, texts: list[SourceText] | None) -> tuple[tuple[int, int], ...]:
        found = []
        for text in texts or ():
            try:
                found.append(statuses(text.value))
            except ValueError as reason:
                self.context.error("bad-value", str(reason), text)
        return tuple(found) or ((200, 299),)

    # -- shell ----------------------------------------------------------------------------------

    def _shell(self, entry: ShellEntry, around: Surroundings) -> ShellSpec:
        if not entry.broken & {"argv", "script"}:
            self.context.one_of("exactly-one", entry, ("argv", "script"))
        above_zero(self.context, entry.timeout, entry.at("timeout"), "timeout")
        self._static(entry.script, "a script", "hand the value over in 'env' and write \"$NAME\"")
        self._static(entry.cwd, "'cwd'", None)
        self._static(entry.user, "'user'", None)
        return ShellSpec(
            argv=self._argv(entry, around),
            script=entry.script.value if entry.script else None,
            interpreter=self._interpreter(entry),
            stdin=self._stdin(entry, around),
            env=self._env(entry.env, around),
            pass_env=self._passed(entry.pass_env),
            cwd=str(self.context.folder / entry.cwd.value if entry.cwd else self.context.folder),
            timeout_s=_timeout(entry.timeout, SHELL_TIMEOUT_S),
            limits=self._limits(entry.limits),
            user=entry.user.value if entry.user else None,
            files=self._files(entry, around),
        )

    def _limits(self, entry: ShellLimitsEntry | None) -> ShellLimits | None:
        if entry is None:
            return None
        for key, value in (("cpu", entry.cpu), ("memory", entry.memory), ("files", entry.files)):
            above_zero(self.context, value, entry.at(key), key)
        cpu_s = None if entry.cpu is None else -(-entry.cpu // 1_000)
        return ShellLimits(cpu_s, entry.memory, entry.files)

    def _files(self, entry: ShellEntry, around: Surroundings) -> tuple[tuple[str, Any], ...]:
        place = ExpressionSite("a file", around.roots)
        found = []
        for name, node in entry.files or ():
            self._variable_name(name)
            if name.value in (entry.env or ()):
                message = f"'{name.value[:60]}' stands in 'env' as well"
                self.context.error("bad-variable", message, name)
            whole = isinstance(node, Scalar) and node.value == "body"
            found.append((name.value, "body" if whole else self.language.json(node, place)))
        return tuple(found)

    def _static(self, text: SourceText | None, what: str, hint: str | None) -> None:
        """No template; other uses of two braces in a script are the script's own."""
        for found in _TEMPLATE.finditer(text.value if text else ""):
            if text is not None and self._is_template(found[0]):
                message = f"{what} never holds a template"
                self.context.error_within("template-not-here", message, text, found.span(), hint)

    def _is_template(self, text: str) -> bool:
        whole = self.language.quiet_template(text)
        return whole is not None and bool(whole.roots)

    def _argv(self, entry: ShellEntry, around: Surroundings) -> tuple[Template, ...] | None:
        texts = entry.argv
        if texts is None:
            return None
        if not texts:
            self.context.error("bad-program", "'argv' names no program", entry.key_at("argv"))
        place = ExpressionSite("an argument", around.roots)
        found = [self.language.template(text, place) for text in texts]
        if found and found[0] is not None and found[0].roots - {"var"}:
            message = "the program to run cannot come from the event"
            self.context.error("bad-program", message, texts[0])
        return tuple(template for template in found if template is not None)

    def _interpreter(self, entry: ShellEntry) -> tuple[str, ...]:
        if entry.script is None:
            if entry.interpreter is not None:
                message = "'interpreter' goes with 'script' only"
                self.context.error(
                    "interpreter-without-script", message, entry.key_at("interpreter")
                )
            return ()
        return tuple(text.value for text in entry.interpreter or ()) or ("sh", "-eu")

    def _stdin(self, entry: ShellEntry, around: Surroundings) -> Any:
        node = entry.stdin
        if node is None:
            return "default"
        if isinstance(node, Scalar) and node.value in ("none", "default"):
            return node.value
        return self.language.json(node, ExpressionSite("stdin", around.roots))

    def _env(self, table: Table[SourceText] | None, around: Surroundings) -> Pairs:
        for name, _ in table or ():
            self._variable_name(name)
        return self._pairs(table, ExpressionSite("an environment variable", around.roots, "any"))

    def _passed(self, texts: list[SourceText] | None) -> tuple[str, ...]:
        for text in texts or ():
            self._variable_name(text)
        return tuple(text.value for text in texts or ())

    def _variable_name(self, name: SourceText) -> None:
        if not VARIABLE.fullmatch(name.value):
            message = f"'{name.value[:60]}' cannot be the name of a variable"
            self.context.error("bad-variable", message, name)
        elif name.value.startswith("WEBHOOK_"):
            message = f"the variable '{name.value[:60]}' is set by the router itself"
            self.context.error("bad-variable", message, name)

    # -- python ---------------------------------------------------------------------------------

    def _python(self, entry: PythonEntry, around: Surroundings) -> PythonSpec:
        above_zero(self.context, entry.timeout, entry.at("timeout"), "timeout")
        if entry.call is not None and "args" not in entry.broken:
            self._plugins.check(entry.call, entry.args)
        place = ExpressionSite("an argument", around.roots)
        return PythonSpec(
            call=entry.call.value if entry.call else "",
            args={n.value: self.language.json(node, place) for n, node in entry.args or ()},
            secrets=tuple(self.context.secret(name) for name in entry.secrets or ()),
            cwd=str(self.context.folder),
            timeout_s=_timeout(entry.timeout, PYTHON_TIMEOUT_S),
        )


def _kind(entry: ActionEntry) -> str | None:
    return next((kind for kind in _KINDS if getattr(entry, kind) is not None), None)


def _long_form(entry: HttpEntry) -> HttpEntry:
    """`http: URL` is short for `{url: URL}`."""
    return (
        entry
        if entry.short is None
        else HttpEntry(node=entry.node, url=entry.short, short=entry.short)
    )


def _timeout(given_ms: int | None, default_s: float) -> float:
    return given_ms / 1_000 if given_ms else default_s
