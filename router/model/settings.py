"""Settings of a rules file as typed values, for the packages above."""

from pathlib import Path
from typing import Literal, get_args

import msgspec

from router.model.store_address import SqliteFile, StoreAddress

KIB, MIB, GIB = 1024, 1024**2, 1024**3
DAY_MS = 86_400_000
_REACHED_AT = {"": "127.0.0.1", "*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared


class Limits(msgspec.Struct, frozen=True):
    """
    `server.limits`: what the public listener accepts.

    Sizes in bytes, times in seconds. `answer_s` runs from the last body byte to the answer.
    """

    header_count: int = 100
    header_bytes: int = 16 * KIB
    uri_bytes: int = 2 * KIB
    header_s: float = 5.0
    body_idle_s: float = 5.0
    body_total_s: float = 30.0
    keep_alive_s: float = 5.0
    answer_s: float = 2.5
    in_flight_bytes: int = 64 * MIB
    in_flight_wait_s: float = 2.0
    connections_per_address: int = 64


class KeepFor(msgspec.Struct, frozen=True):
    """How long ended work is kept, in milliseconds, by how it has ended."""

    succeeded: int = 7 * DAY_MS
    unmatched: int = 7 * DAY_MS
    dead: int = 30 * DAY_MS


class Retention(KeepFor, frozen=True):
    """What holds where an endpoint says nothing else; the store's largest size in bytes."""

    max_size: int = 10 * GIB

    @property
    def refuse_at(self) -> int:
        """The bytes from which the store is so nearly full that deliveries are refused."""
        return self.max_size * 95 // 100


class ListenerTls(msgspec.Struct, frozen=True):
    """A listener's certificate: absolute paths of PEM files; `key` None: it is in the same file."""

    cert: str
    key: str | None = None


class Reload(msgspec.Struct, frozen=True):
    """
    `server.reload`. `watch`: changed files are noticed without a signal. `require_tests`: a file
    comes into force by a reload only if its tests succeed.
    """

    watch: bool = True
    require_tests: bool = False


AdminRole = Literal["viewer", "operator", "admin"]
"""viewer: asks; operator: also changes; admin: also makes tokens and revokes them."""
ROLES: tuple[AdminRole, ...] = get_args(AdminRole)
"""Each may do what those before it may."""


class AdminToken(msgspec.Struct, frozen=True):
    """
    One of `server.admin.tokens`: its name, the secret that is its value, and what it may do.
    Without `bodies` it sees no payloads, header values and rendered calls.
    """

    name: str
    secret: str
    role: AdminRole = "viewer"
    bodies: bool = True


def local_url(address: str, *, tls: bool = False) -> str:
    """`http://host:port` to reach on this machine what listens at `address`."""
    host, _, port = address.rpartition(":")
    return f"{'https' if tls else 'http'}://{_REACHED_AT.get(host, host)}:{port}"


class ServerSettings(msgspec.Struct, frozen=True):
    """
    `server:`. Addresses are `host:port`. `given_base_url` is None where the file leaves it out.
    `state_dir` is the folder of what lies beside the store,
    absolute; None: that of the store's file.
    `admin_hosts` are names that the admin listener is called by, beside its address.
    `egress_allow` are CIDRs that host names may resolve to although they are private.
    `grace_s` is what running actions get at SIGTERM. `keep_refused`: the last refused requests are
    kept whole, in memory.
    """

    given_base_url: str | None = None
    listen: str = "0.0.0.0:8000"
    admin: str = "127.0.0.1:8001"
    admin_tokens: tuple[AdminToken, ...] = ()
    admin_hosts: tuple[str, ...] = ()
    store: StoreAddress = SqliteFile("router.db")
    state_dir: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    egress_allow: tuple[str, ...] = ()
    retention: Retention = Retention()
    limits: Limits = Limits()
    grace_s: float = 20.0
    keep_refused: bool = False
    tls: ListenerTls | None = None
    admin_tls: ListenerTls | None = None
    reload: Reload = Reload()

    @property
    def local_url(self) -> str:
        """Where this machine reaches the public listener."""
        return local_url(self.listen, tls=self.tls is not None)

    @property
    def base_url(self) -> str:
        """The address that senders use, as far as it is known here."""
        return self.given_base_url or self.local_url

    @property
    def state(self) -> Path:
        """What lies beside the store has this name, and more: `router.db`, `router`."""
        file = Path(self.store.path if isinstance(self.store, SqliteFile) else "router")
        return file if self.state_dir is None else Path(self.state_dir) / file.name


class SecretRef(msgspec.Struct, frozen=True):
    """
    Where a secret's value comes from: exactly one of env, file (absolute path), credential.

    `until` is the Unix millisecond from which it no longer verifies anything.
    """

    name: str
    env: str | None = None
    file: str | None = None
    credential: str | None = None
    until: int | None = None


class Dedupe(msgspec.Struct, frozen=True):
    """
    `id`: the provider's id; `body`: hash of event and body; `key`: an expression; `off`: none.

    `window_ms` is how long a key is known, from its first acceptance.
    """

    mode: Literal["id", "body", "key", "off"] = "id"
    key: str | None = None
    window_ms: int = 7 * DAY_MS


class FixedAnswer(msgspec.Struct, frozen=True):
    """
    An answer in place of the 200's JSON.

    `body` is static text, in the pieces between which the delivery's id goes; `headers` are further
    ones, names in lower case.
    """

    status: int = 200
    type: str = "text/plain; charset=utf-8"
    body: tuple[str, ...] = ("",)
    headers: tuple[tuple[bytes, bytes], ...] = ()


PUBLISHED = "provider"
"""Stands among the CIDRs of `allow_from` for the ranges that the provider publishes."""


class Api(msgspec.Struct, frozen=True):
    """
    `api:` of an endpoint: how its sender's own API is called.

    `base` is an address without a slash at its end, None for the definition's; `token` names a
    secret. With `app`, the id of an app, that secret is the app's private key. `graphql` says which
    of two ways subscriptions are made, `graphql_path` where, None for the definition's path.
    `spelling` is the provider's name as the endpoint writes it: it decides between two spellings
    of a header.
    """

    base: str | None = None
    token: str | None = None
    app: str | None = None
    graphql: bool = False
    graphql_path: str | None = None
    spelling: str = ""


class Recover(msgspec.Struct, frozen=True):
    """
    `recover:` of an endpoint: every so many milliseconds what its sender could not deliver is asked
    for (None: only by command), of the `hook` at this path of the sender's API, if it has several.
    """

    every_ms: int | None = None
    hook: str = ""


class Redact(msgspec.Struct, frozen=True):
    """
    `redact:` of an endpoint: the values at `paths`, written as `fields`, are taken out of what it
    accepts. `paths` are a root, then names, positions and None for every element.

    `stored`: they are never written. `done`: they go so many milliseconds after nothing of the
    delivery is open.
    """

    fields: tuple[str, ...]
    paths: tuple[tuple[str | int | None, ...], ...]
    when: Literal["stored", "done"] = "done"
    after_ms: int = 0


class Endpoint(msgspec.Struct, frozen=True):
    """
    A receiving address. `addresses` are raw paths as they arrive (base_url's path included).

    `secrets` name what verifies; `unsigned` is true only by `verify: none`. `body_max` in bytes.
    `allow_from` are CIDRs, or PUBLISHED, empty for everybody. `tolerance_s` None: the provider's
    own. `api_version` is what deliveries should have (YYYY-MM), None for any. `expect_every` is
    the longest time between two deliveries in milliseconds, None for any. `public_url` is what its
    sender was told: the whole address, or its beginning up to the path; "": nobody knows.
    `retention` None: the server's.
    """

    name: str
    provider: str
    addresses: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    unsigned: bool = False
    body_max: int = 5 * MIB
    dedupe: Dedupe = Dedupe()
    tolerance_s: int | None = None
    replay_guard: bool = False
    on_redelivery: Literal["ignore", "revive"] = "ignore"
    allow_from: tuple[str, ...] = ()
    answer: FixedAnswer | None = None
    api: Api = Api()
    api_version: str | None = None
    expect_every: int | None = None
    public_url: str = ""
    recover: Recover = Recover()
    redact: Redact | None = None
    retention: KeepFor | None = None

    @property
    def shown_provider(self) -> str:
        """Its provider by the name that the rules file gives it (`github`, not `code-host`)."""
        return self.api.spelling or self.provider

    def address_of(self, event: str) -> str:
        """Where its sender sends an event: of several addresses the one that ends so; "": none."""
        fitting = (a for a in self.addresses if a.endswith(f"/{event}"))
        return next(fitting, self.addresses[0] if self.addresses else "")


OWN = "router"
"""The reserved endpoint, and provider, of the router's own events: `from: router`."""

OWN_ENDPOINT = Endpoint(
    name=OWN, provider=OWN, addresses=(), unsigned=True, dedupe=Dedupe(window_ms=60 * DAY_MS)
)
"""It has no address, so nobody can send to it. Its keys keep an event from being received twice."""


class Auth(msgspec.Struct, frozen=True):
    """Exactly one of: bearer (secret), basic (user text, secret), header (name, secret)."""

    bearer: str | None = None
    basic: tuple[str, str] | None = None
    header: tuple[str, str] | None = None


class Tls(msgspec.Struct, frozen=True):
    """
    How a connection is secured beyond the system's own trust; paths are absolute.

    `ca` stands in place of the system's authorities. The key of `cert` is in `key`, in the secret
    `key_secret`, or in the same file.
    """

    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    key_secret: str | None = None


class Sign(msgspec.Struct, frozen=True):
    """
    How a call is signed, by each of these secrets, the first being the newest.

    `scheme` standard-webhooks sends that scheme's three headers; hmac sends `header` alone, over
    the body.
    """

    secrets: tuple[str, ...]
    scheme: Literal["standard-webhooks", "hmac"] = "hmac"
    header: str = ""
    algorithm: Literal["sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = ""


class ShellLimits(msgspec.Struct, frozen=True):
    """What each process of a command may use: seconds of processor, bytes of memory, open files."""

    cpu_s: int | None = None
    memory: int | None = None
    files: int | None = None


class Target(msgspec.Struct, frozen=True):
    """
    A named place of `targets:`. Exactly one of `url` (text) and `url_secret` (secret's name).

    `rate` is calls a second, None for no limit. `headers` values are template texts. Without
    `breaker` it is called however often it fails.
    """

    name: str
    url: str | None = None
    url_secret: str | None = None
    auth: Auth | None = None
    headers: tuple[tuple[str, str], ...] = ()
    rate: float | None = None
    concurrency: int = 16
    timeout_s: float = 30.0
    tls: Tls | None = None
    sign: Sign | None = None
    breaker: bool = True


class TargetLimits(msgspec.Struct, frozen=True):
    """
    What dispatch holds to: jobs of one target at once, starts a second (None: no limit), and
    whether it is left alone for a while when it fails too often.
    """

    concurrency: int
    rate: float | None = None
    breaker: bool = True
