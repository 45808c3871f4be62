"""What metrics show of how things stand, read when somebody looks."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from router.dispatch import Dispatcher
from router.metrics import Metrics
from router.model.store_address import SqliteFile
from router.rules.live import LiveRef
from router.serving.conditions import disk_of
from router.store.protocol import Store
from router.web.tls import Certificate
from router.wiring.listeners import ends

STATES: Mapping[str, int] = {"healthy": 0, "recovering": 1, "failing": 2, "paused": 3}


def measure_parts(
    metrics: Metrics, live: LiveRef, dispatch: Dispatcher, certificates: Iterable[Certificate]
) -> None:
    """What `check` finds, the states of targets, and when the listeners' certificates end."""
    metrics.watch_each(
        "rules_findings",
        "What check finds in the rules in force",
        "severity",
        lambda: {"error": 0, "warning": 0} | Counter(d.severity for d in live.current.findings),
    )
    metrics.watch_each(
        "target_state",
        "0 healthy, 1 recovering, 2 failing, 3 paused",
        "target",
        lambda: {one.target: STATES[one.state] for one in dispatch.targets()},
    )
    metrics.watch_each(
        "target_deferred_total",
        "Jobs that came while their target was not called",
        "target",
        lambda: {one.target: one.deferred for one in dispatch.targets() if one.deferred},
    )
    metrics.watch_each(
        "certificate_end_timestamp_seconds",
        "When the certificate of a listener ends",
        "setting",
        lambda: {setting: ms / 1000 for setting, ms in ends(certificates).items()},
    )


def measure_store(
    metrics: Metrics, live: LiveRef, store: Store, size: Callable[[], int | None]
) -> None:
    """
    What the store takes and may take, by its last `size`; of a file also its journal and its disk.
    """
    metrics.watch("store_bytes", "What the store takes", lambda: size() or 0)
    metrics.watch(
        "store_max_bytes",
        "What it may take (retention.max_size)",
        lambda: live.current.ruleset.server.retention.max_size,
    )
    address = live.current.ruleset.server.store
    if isinstance(address, SqliteFile):
        disk = disk_of(address)
        metrics.watch("journal_bytes", "How long the store's journal is", store.journal_bytes)
        metrics.watch("disk_used_bytes", "Used of the store's disk", lambda: disk()[0])
        metrics.watch("disk_bytes", "The whole disk of the store", lambda: disk()[1])
