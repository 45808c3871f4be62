"""What a rules file settles: the typed values that rooms above take as given."""

from typing import Literal

import msgspec

KIB, MIB, GIB = 1024, 1024**2, 1024**3
DAY_MS = 86_400_000


class Limits(msgspec.Struct, frozen=True):
    """
    `server.limits`: what the public door bears.

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


class Retention(msgspec.Struct, frozen=True):
    """How long ended work is kept, in milliseconds, and the store's largest size in bytes."""

    succeeded: int = 7 * DAY_MS
    unmatched: int = 7 * DAY_MS
    dead: int = 30 * DAY_MS
    max_size: int = 10 * GIB


class Server(msgspec.Struct, frozen=True):
    """
    `server:`. Addresses are `host:port`. `store` is an absolute path of a SQLite file.
    `egress_allow` are CIDRs that host names may resolve to although they are private.
    `grace_s` is what running actions get at SIGTERM.
    """

    base_url: str = "http://127.0.0.1:8000"
    listen: str = "0.0.0.0:8000"
    admin: str = "127.0.0.1:8001"
    store: str = "router.db"
    trusted_proxies: tuple[str, ...] = ()
    egress_allow: tuple[str, ...] = ()
    retention: Retention = Retention()
    limits: Limits = Limits()
    grace_s: float = 20.0


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


class Answer(msgspec.Struct, frozen=True):
    """
    `answer:` of an endpoint, in place of the 200's JSON.

    `body` is static text, in the pieces between which the delivery's id goes.
    """

    status: int = 200
    type: str = "text/plain; charset=utf-8"
    body: tuple[str, ...] = ("",)


class Endpoint(msgspec.Struct, frozen=True):
    """
    A receiving address. `addresses` are raw paths as they arrive (base_url's path included).

    `secrets` name what verifies; `unsigned` is true only by `verify: none`. `body_max` in bytes.
    `allow_from` are CIDRs, empty for everybody. `tolerance_s` None: the provider's own.
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
    answer: Answer | None = None


class Auth(msgspec.Struct, frozen=True):
    """Exactly one of: bearer (secret), basic (user text, secret), header (name, secret)."""

    bearer: str | None = None
    basic: tuple[str, str] | None = None
    header: tuple[str, str] | None = None


class Target(msgspec.Struct, frozen=True):
    """
    A named place of `targets:`. Exactly one of `url` (text) and `url_secret` (secret's name).

    `rate` is calls a second, None for no limit. `headers` values are template texts.
    """

    name: str
    url: str | None = None
    url_secret: str | None = None
    auth: Auth | None = None
    headers: tuple[tuple[str, str], ...] = ()
    rate: float | None = None
    concurrency: int = 16
    timeout_s: float = 30.0


class TargetLimits(msgspec.Struct, frozen=True):
    """What dispatch holds to: jobs of one target at once, and starts a second (None: no limit)."""

    concurrency: int
    rate: float | None = None
