"""The live ruleset: one reference that reload swaps, with what it needs to act."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from router.errors import Diagnostic
from router.kinds import KINDS
from router.kinds.kind import ActionCall, Rendering
from router.model.delivery import LiveSecret
from router.model.job import Job
from router.model.settings import OWN, Endpoint, Target
from router.providers import Provider
from router.rules.answers import MadeAnswer
from router.rules.match import Matcher
from router.rules.redacting import Hidden
from router.rules.ruleset import Ruleset
from router.rules.scope import ROOTS
from router.rules.specs import CompiledAction, results_read, roots_read


class SecretValues:
    """Resolved secret values by name; `until` ends a secret's power to verify."""

    def __init__(self, values: Mapping[str, bytes], until: Mapping[str, int | None]) -> None:
        self._live = {name: LiveSecret(name, value) for name, value in values.items()}
        self._until = {name: end for name, end in until.items() if end is not None}
        self.texts = {name: value.decode("utf-8", "replace") for name, value in values.items()}

    def __repr__(self) -> str:
        return f"Secrets({sorted(self._live)})"

    def value(self, name: str) -> bytes:
        """A secret's bytes, empty when there is none."""
        found = self._live.get(name)
        return found.value if found else b""

    def verifying(self, names: tuple[str, ...], now_ms: int) -> list[LiveSecret]:
        """The named secrets that may still verify at `now_ms`."""
        ended = self._until
        return [
            self._live[n]
            for n in names
            if n in self._live and (n not in ended or now_ms < ended[n])
        ]


UNPARSED = ROOTS - {"action", "def", "path", "payload"} | {"results", "secret", "with"}
"""Roots that are known without parsing the body."""


class PreparedAction(msgspec.Struct, frozen=True):
    """
    What rendering an action takes, as far as it is the same for every job.

    `in_scope`: something of it is read from a scope. `parsed`: it wants more of its event than
    the job itself knows, so that a stored body has to be parsed again. `secrets` are those that
    its expressions see: none where none is named, so that what reads the scope itself (`$`) never
    brings one into a place where it may not stand.
    """

    make: Callable[[Rendering], ActionCall]
    secrets: Mapping[str, str]
    in_scope: bool
    parsed: bool


def _prepare(action: CompiledAction, secrets: SecretValues) -> PreparedAction:
    kind, reads = KINDS[action.kind], roots_read(action)
    return PreparedAction(
        make=kind.prepare(action.spec, reads, secrets),
        secrets=secrets.texts if "secret" in reads else {},
        in_scope=bool(reads or action.given or action.when or action.after),
        parsed=kind.whole_event or not reads <= UNPARSED,
    )


class LiveEndpoint(msgspec.Struct, frozen=True):
    """
    One endpoint, ready to judge: what the listener and intake need of it. `waits`: others are asked
    about its requests. `made` is the answer that each request makes, if the endpoint has one.
    """

    settings: Endpoint
    provider: Provider
    name: str
    body_max: int
    methods: frozenset[str]
    waits: bool = False
    made: MadeAnswer | None = None


class LiveRuleset:
    """
    One generation, in force: ruleset, matcher, secrets, and the table of addresses.

    `own` is the endpoint of the router's own events, which has no address; None: no rule wants any.
    `fingerprints` are those of its secrets, where other nodes are to compare them. `findings` are
    what `check` has to say about the file that it was read from.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        secrets: SecretValues,
        fingerprints: Mapping[str, tuple[str, ...]] = {},
        findings: tuple[Diagnostic, ...] = (),
    ) -> None:
        self.ruleset = ruleset
        self.secrets = secrets
        self.fingerprints = fingerprints
        self.findings = findings
        self.matcher = Matcher(ruleset)
        endpoints = {name: self._live(one) for name, one in ruleset.endpoints.items()}
        self.by_path = {
            address.encode("latin-1"): endpoint
            for endpoint in endpoints.values()
            for address in endpoint.settings.addresses
        }
        self.own = endpoints.get(OWN)
        self.hidden = Hidden(ruleset)
        self.paused = frozenset(r.id for r in ruleset.rules if r.mode == "paused")
        self.actions = {(r.id, a.id): a for r in ruleset.rules for a in r.actions}
        self.reads = {key: results_read(a) for key, a in self.actions.items() if a.after}
        self._prepared: dict[tuple[str, str], PreparedAction] = {}
        self.chained = frozenset(rule for rule, _ in self.reads)
        self.groups = {r.id: r.concurrency.group if r.concurrency else None for r in ruleset.rules}

    def redacts(self, endpoint: str) -> bool:
        """Whether values are taken out of what this endpoint stores."""
        found = self.ruleset.endpoints.get(endpoint)
        return found is not None and found.redact is not None

    def prepared(self, rule: str, action: CompiledAction) -> PreparedAction:
        """
        An action of this generation, ready to be rendered; made when it is first wanted.

        Raises:
            RenderError: it cannot be rendered, whatever the event.
        """
        found = self._prepared.get((rule, action.id))
        if found is None:
            found = self._prepared[rule, action.id] = _prepare(action, self.secrets)
        return found

    def _live(self, endpoint: Endpoint) -> LiveEndpoint:
        provider = self.ruleset.providers[endpoint.provider]
        waits = provider.waits and not endpoint.unsigned
        name, made = endpoint.name, self.ruleset.answers.get(endpoint.name)
        return LiveEndpoint(
            endpoint, provider, name, endpoint.body_max, provider.admits, waits, made
        )


ADOPTED = 32
"""Generations of other nodes at hand: more than are in force anywhere during any deployment."""


class LiveRef:
    """
    Holds the generation in force; swapped whole, never changed.

    `former` keeps, for actions that the present generation no longer has, the last one that had
    them: jobs already made still run with it. A job of an action that this node never had, made by
    a node with other rules, runs with the generation that it names, once that was `adopt`ed.
    """

    def __init__(self, current: LiveRuleset) -> None:
        self.current = current
        self.former: dict[tuple[str, str], LiveRuleset] = {}
        self._adopted: dict[str, LiveRuleset] = {}
        self._fresh: set[str] = set()

    def swap(self, new: LiveRuleset) -> None:
        """Put `new` in force and remember what only the old one knows."""
        for key in self.current.actions:
            if key not in new.actions:
                self.former[key] = self.current
        for key in new.actions:
            self.former.pop(key, None)
        self.current = new
        self._fresh.clear()

    def adopt(self, generation: LiveRuleset) -> None:
        """Have a generation of another node at hand: the newest `ADOPTED` of them are."""
        id_ = generation.ruleset.generation
        self._adopted.pop(id_, None)
        self._adopted[id_] = generation
        self._fresh.add(id_)
        if len(self._adopted) > ADOPTED:
            self._adopted.pop(next(iter(self._adopted)))

    def knows(self, job: Job) -> bool:
        """
        Whether a job may begin here. What was adopted before the last swap is adopted anew before
        that, with the secrets of today; till then it serves jobs that run.
        """
        key = (job.rule, job.action)
        if key in self.current.actions or key in self.former:
            return True
        return job.generation in self._fresh and self.action_of(job) is not None

    def known(self) -> Mapping[tuple[str, str], CompiledAction]:
        """Every action of which a job may run here."""
        former = {key: old.actions[key] for key, old in self.former.items()}
        adopted: dict[tuple[str, str], CompiledAction] = {}
        for one in self._adopted.values():
            adopted |= one.actions
        return {**adopted, **self.current.actions, **former}

    def target(self, name: str) -> Target | None:
        """A named target: today's, else that of a generation that was adopted."""
        found = self.current.ruleset.targets.get(name)
        if found is None and self._adopted:
            named = (one.ruleset.targets.get(name) for one in reversed(self._adopted.values()))
            found = next(filter(None, named), None)
        return found

    def action_of(self, job: Job) -> tuple[LiveRuleset, CompiledAction] | None:
        """Today's version of a job's action, or the last there was, or that of its generation."""
        key = (job.rule, job.action)
        found = self.current.actions.get(key)
        if found is not None:
            return self.current, found
        old = self.former.get(key) or self._adopted.get(job.generation)
        return (old, old.actions[key]) if old is not None and key in old.actions else None


def url_secrets(ruleset: Ruleset) -> Iterator[str]:
    """Those that a target, or an action of itself, calls."""
    for target in ruleset.targets.values():
        if target.url_secret is not None:
            yield target.url_secret
    for rule in ruleset.rules:
        for action in rule.actions:
            yield from KINDS[action.kind].url_secrets(action.spec)
