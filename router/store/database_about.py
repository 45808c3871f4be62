"""What an operator is told of the database that routers share."""

from collections.abc import Iterator, Mapping

import msgspec

from router.store.values import NodeLoad, NodeSeen


class Standby(msgspec.Struct, frozen=True):
    """
    A copy of the database that follows it, and by how much it is behind; what our role may not see
    is None.
    """

    name: str
    state: str | None
    sync: str | None
    lag_ms: int | None = None
    behind_bytes: int | None = None


class DatabaseSettings(msgspec.Struct, frozen=True):
    """
    Settings of the server on which it depends what is kept, and how long all stays quick.
    `connections` are those that roles like ours may have in all.
    """

    version: str
    fsync: bool
    full_page_writes: bool
    synchronous_commit: str
    synchronous_standbys: str
    autovacuum: bool
    connections: int


class DatabaseAbout(msgspec.Struct, frozen=True):
    """
    A database that routers share. `parts` are the bytes of the tables that have a partition for
    each of so many `days`, of which the first began at `oldest_day_at`. `queued` are open jobs,
    beyond 100,000 as the server estimates them, `dead_tuples` what is left of those that ended
    until a vacuum. What `oldest_xmin_of` names has seen nothing of the last `oldest_xmin_age`
    transactions: no vacuum removes what they left. The feed tells of nothing that came after the
    oldest of `feed_behind` transactions, which began `horizon_ms` ago (None: our role may not see
    that). `connected` counts connections, `routers` those of routers among them; `sees_all`: our
    role may see what other roles do.
    """

    settings: DatabaseSettings
    schema: int
    now: int
    bytes: int
    parts: Mapping[str, int]
    days: int
    oldest_day_at: int | None
    queued: int
    dead_tuples: int
    feed_behind: int
    horizon_ms: int | None
    oldest_xmin_age: int
    oldest_xmin_of: str | None
    connected: int
    routers: int
    sees_all: bool
    standbys: tuple[Standby, ...]
    nodes: tuple[NodeSeen, ...]
    loads: Mapping[str, NodeLoad]

    @property
    def living(self) -> list[NodeSeen]:
        """The nodes that are not gone."""
        return [node for node in self.nodes if not node.gone]

    def risks(self) -> tuple[tuple[str, str], ...]:
        """What may lose deliveries that were acknowledged, each with what to do about it."""
        return tuple(self._risks())

    def _risks(self) -> Iterator[tuple[str, str]]:
        settings = self.settings
        if not settings.fsync:
            says = "fsync is off: a crash of its machine may lose everything"
            yield says, "set fsync = on in postgresql.conf"
        if not settings.full_page_writes:
            says = "full_page_writes is off: a crash of its machine may leave torn pages"
            yield says, "set full_page_writes = on in postgresql.conf"
        if settings.synchronous_commit == "off":
            says = "synchronous_commit is off: a crash loses what was acknowledged last"
            yield says, "set synchronous_commit = on, for the database or our role"
        if self.standbys and not self._waits_for_standby():
            says = "no standby is synchronous: a failover loses what came last"
            yield says, "name one in synchronous_standby_names, with synchronous_commit = on"

    def _waits_for_standby(self) -> bool:
        """As far as our role may see."""
        settings = self.settings
        if not settings.synchronous_standbys or settings.synchronous_commit in ("off", "local"):
            return False
        return any(one.sync in (None, "sync", "quorum") for one in self.standbys)

    def room(self, pool: int) -> int:
        """Connections that are left when each router that lives has its `pool` of them."""
        others = self.connected - self.routers
        return self.settings.connections - others - pool * len(self.living)
