"""What `router doctor` checks without a server: the file, its secrets, its events."""

import asyncio
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from router.actions.resolve import Resolve
from router.cli.doctor_check import Check, ok, problem, unknown
from router.cli.output import counted
from router.cli.wanted_events import WantedEvents, rules_of, wanted
from router.config import Loaded
from router.diagnosis.causes import key_fix
from router.egress import EgressPolicy, is_local_name, is_private_name, literal_address
from router.errors import EgressRefused, SecretMissing
from router.legible import size_text
from router.model.settings import Endpoint, SecretRef
from router.providers import Provider
from router.rules.ruleset import Ruleset
from router.secrets import WEAK_BYTES, weak
from router.wiring.dev import DevFile
from router.wiring.secret_values import secret_value


def of_file(loaded: Loaded, rules: str) -> Check:
    """Is the file right?"""
    errors = [d for d in loaded.diagnostics if d.severity == "error"]
    if errors:
        return problem(
            "file",
            f"{counted(len(errors), 'error')}, the first: {errors[0].message}",
            f"`router check {rules}` shows where each of them is",
        )
    warnings = len(loaded.diagnostics)
    return ok("file", "no errors" + (f", {counted(warnings, 'warning')}" if warnings else ""))


# -- the address that senders get -----------------------------------------------------------------


def of_base_url(base_url: str, *, dev: bool) -> Check:
    """Could a sender on the internet call it?"""
    url = urlsplit(base_url)
    inner = _inner(url.hostname or "")
    fix = "set `server.base_url` to the public https address (of a proxy or a tunnel)"
    if inner is not None and dev:
        return unknown("base_url", f"{base_url} {inner}, as usual with --dev", fix)
    if inner is not None:
        return problem("base_url", f"{base_url} {inner}: no sender can reach it", fix)
    if url.scheme != "https":
        return problem("base_url", f"{base_url} is not https: many senders refuse it", fix)
    path = url.path.rstrip("/")
    more = f"; its path {path} is part of every address, so a proxy must keep it" if path else ""
    return ok("base_url", f"{base_url} is a public https address{more}")


def _inner(host: str) -> str | None:
    """Why nobody outside can call a host, by its spelling alone."""
    address = literal_address(host)
    if is_local_name(host) or (address and (address.is_loopback or address.is_unspecified)):
        return "is this machine only"
    if address is None:
        return "is a name of a private network" if is_private_name(host) else None
    try:
        EgressPolicy().check(host)
    except EgressRefused:
        return "is a private address"
    return None


# -- secrets --------------------------------------------------------------------------------------


def of_secrets(
    ruleset: Ruleset,
    endpoint: Endpoint,
    environ: Mapping[str, str],
    dev_file: DevFile | None,
    now_ms: int,
    *,
    running: bool = False,
) -> Iterator[Check]:
    """
    Is every secret of the endpoint there, and usable? `running`: a server runs with this file, so
    it has those that this shell may not have.
    """
    if endpoint.unsigned:
        yield unknown(
            "secrets",
            "nothing is verified (`verify: none`): anybody may send up to "
            f"{size_text(endpoint.body_max)} here",
        )
    refs = [ruleset.secrets[name] for name in endpoint.secrets]
    for ref in refs:
        if running and ref.env is not None and not environ.get(ref.env):
            yield unknown(
                f"secret {ref.name}",
                f"{ref.env} is not set in this shell; the running server has it",
                "run this with the server's environment",
            )
        else:
            yield _of_secret(ref, ruleset.providers[endpoint.provider], environ, dev_file, now_ms)
    if endpoint in ruleset.unverifiable(now_ms):
        yield problem(
            "secrets",
            "every secret has ended (`until`): all deliveries are refused",
            "name the secret that the sender uses now",
        )
    if endpoint.api.token is not None:
        ref = ruleset.secrets[endpoint.api.token]
        try:
            secret_value(ref, environ)
        except SecretMissing as error:
            yield problem(f"token {ref.name}", str(error), f"set {_where(ref)} to the access token")
        else:
            yield ok(f"token {ref.name}", f"{_where(ref)} is set")


def _where(ref: SecretRef) -> str:
    return ref.env or ref.file or ref.credential or ref.name


def _of_secret(
    ref: SecretRef,
    provider: Provider,
    environ: Mapping[str, str],
    dev_file: DevFile | None,
    now_ms: int,
) -> Check:
    """One secret, for a provider that is to verify with it."""
    name = f"secret {ref.name}"
    try:
        value = secret_value(ref, environ)
    except SecretMissing as error:
        if dev_file is not None:
            return ok(name, f"{error}; --dev invents one")
        return problem(name, str(error), f"set {_where(ref)} to what the sender shows")
    if ref.until is not None and ref.until <= now_ms:
        return ok(name, "it has ended (`until`) and verifies nothing any more")
    return _of_value(name, value, ref, provider)


def _of_value(name: str, value: bytes, ref: SecretRef, provider: Provider) -> Check:
    where, verdict = _where(ref), provider.check_secret(value)
    if not verdict.ok:
        why = verdict.error or "unusable"
        return problem(name, f"{where}: {why}", key_fix(why))
    if (slip := _slip(value, ref)) is not None:
        return problem(name, f"{where} {slip}", "set it again, exactly as the sender has it")
    if weak(value):
        return problem(
            name,
            f"{where} is shorter than {WEAK_BYTES} bytes: it can be guessed",
            "make a longer one (`openssl rand -hex 32`), here and at the sender",
        )
    warned = f": {verdict.warning}" if verdict.warning else ""
    return ok(name, f"{where} is set and usable{warned}")


def _slip(value: bytes, ref: SecretRef) -> str | None:
    """A sign that something besides the secret was copied."""
    quoted = value[:1] in (b'"', b"'") and value[:1] == value[-1:] and len(value) > 1
    marked = value.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    named = ref.env is not None and value.startswith(ref.env.encode() + b"=")
    armoured = b"-----BEGIN" in value
    slips = (
        (quoted, "begins and ends with a quote, which counts as part of it"),
        (marked, "begins with a byte order mark: it was saved in another encoding"),
        (named, "holds its own name and `=` as well"),
        (not armoured and value != value.strip(), "has white space around it, which counts"),
        (not armoured and value.endswith(b"\\n"), "ends with a written `\\n`, which counts"),
    )
    return next((words for slipped, words in slips if slipped), None)


# -- events and versions --------------------------------------------------------------------------


def of_events(ruleset: Ruleset, endpoint: Endpoint) -> Iterator[Check]:
    """Do the rules want events that this sender has, and which are to be selected there?"""
    provider = ruleset.providers[endpoint.provider]
    if not rules_of(ruleset, endpoint):
        yield problem(
            "events",
            "no rule matches events of this endpoint",
            f"write a rule with `from: {endpoint.name}`",
        )
        return
    found = wanted(ruleset, endpoint)
    for rule, pattern in found.unknown:
        yield problem(
            "events",
            f"rule {rule} waits for {pattern!r}, which {provider.label} does not list",
            f"`router providers {endpoint.shown_provider}` lists its events",
        )
    yield ok("events", to_select(found, provider))


def to_select(found: WantedEvents, provider: Provider) -> str:
    """What to select in the sender's settings, in its own words, for the rules to get it."""
    if found.every:
        return f"select every event at the sender: rule {found.every[0]} wants them all"
    if not (found.names or found.rest):
        return "select nothing at the sender: no rule matches its events"
    if not found.names:
        return f"select at the sender what rule {found.rest[0]} is to get: no rule names an event"
    return f"select at the sender: {', '.join(provider.setting(name) for name in found.names)}"


def of_version(ruleset: Ruleset, endpoint: Endpoint) -> Iterator[Check]:
    """Is the version of payloads pinned, where deliveries name theirs?"""
    if not ruleset.providers[endpoint.provider].has_versions:
        return
    if endpoint.api_version is None:
        yield unknown(
            "api_version",
            "no version is pinned, so a change of payloads is not noticed",
            "write `api_version: 2024-01`",
        )
    else:
        yield ok("api_version", f"{endpoint.api_version} is expected")


def of_senders(ruleset: Ruleset, endpoint: Endpoint) -> Iterator[Check]:
    """Can `allow_from` see who really sends?"""
    if not endpoint.allow_from:
        return
    if ruleset.server.base_url.startswith("https:") and not ruleset.server.trusted_proxies:
        yield problem(
            "allow_from",
            "`allow_from` sees the proxy that speaks https, not the sender behind it",
            "name the proxy's range in `server.trusted_proxies`",
        )
    else:
        yield ok("allow_from", f"only {', '.join(endpoint.allow_from)} may send")


# -- the names that actions call ------------------------------------------------------------------


LOOK_UP_S = 5.0


async def of_targets(ruleset: Ruleset, lookup: Resolve | None) -> list[Check]:
    """Does a name lead to an address that must not be called? None: no name is looked up."""
    allow = ruleset.server.egress_allow
    if lookup is not None:
        return await asyncio.gather(
            *(_of_name(*one, EgressPolicy(allow), lookup) for one in _called(ruleset))
        )
    fix = "allow its addresses in `server.egress.allow`; without --offline they are looked up"
    return [
        unknown(name, f"{host} is a name of a private network, and none is allowed", fix)
        for name, host in _called(ruleset)
        if is_private_name(host) and not allow
    ]


def _called(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """The names of targets' hosts and of bare addresses; what is secret is left out."""
    urls = {name: target.url for name, target in ruleset.targets.items()}
    bare = {action.target for rule in ruleset.rules for action in rule.actions}
    urls |= {name: name for name in sorted(bare) if "://" in name}
    for name, url in urls.items():
        host = urlsplit(url or "").hostname or "localhost"
        if not is_local_name(host) and literal_address(host) is None:
            yield f"target {name}", host


async def _of_name(name: str, host: str, policy: EgressPolicy, lookup: Resolve) -> Check:
    try:
        async with asyncio.timeout(LOOK_UP_S):
            addresses = await lookup(host)
    except OSError:  # TimeoutError is one
        return unknown(name, f"{host} is not found from here", "look at its spelling and at DNS")
    refusal = ""
    for address in addresses:
        try:
            policy.check(address, host)
        except EgressRefused as error:
            refusal = refusal or str(error)
        else:
            return ok(name, f"{host} is {address}, which may be called")
    says, _, fix = refusal.partition(". ")
    fix = fix[:1].lower() + fix[1:].rstrip(".")
    return problem(name, says, fix or "call another address")
