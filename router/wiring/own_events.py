"""The router's own events, put together: what is watched for them."""

import hashlib
import shutil
from pathlib import Path

from router.clock import Clock
from router.dispatch.dispatcher import Dispatcher
from router.metrics import Metrics
from router.operator.answers import ReloadState
from router.rules.live import LiveRef
from router.rules.own_events import DIAGNOSTICS_MAX, shown
from router.serving.conditions import (
    Alerts,
    QuietEndpointAlerts,
    RefusalAlerts,
    SecretAlerts,
    StorageAlerts,
    TargetAlerts,
)
from router.serving.own_events import ConditionWatch, OwnEvents, OwnEventWriter
from router.serving.quiet_endpoints import QuietEndpoints
from router.store.protocol import Store


def watches(
    writer: OwnEventWriter,
    live: LiveRef,
    store: Store,
    *,
    quiet: QuietEndpoints,
    dispatch: Dispatcher,
    clock: Clock,
    metrics: Metrics,
) -> tuple[ConditionWatch, ...]:
    """Of endpoints, targets, secrets, the store and its disk."""
    alerts = Alerts(store, writer.send)
    folder = Path(live.current.ruleset.server.store).absolute().parent

    def disk() -> tuple[int, int]:
        usage = shutil.disk_usage(folder)
        return usage.total - usage.free, usage.total

    return (
        RefusalAlerts(live=live, metrics=metrics, clock=clock, alerts=alerts),
        QuietEndpointAlerts(live=live, silent=quiet.silent, alerts=alerts),
        TargetAlerts(now=dispatch.targets, alerts=alerts),
        SecretAlerts(live=live, clock=clock, alerts=alerts),
        StorageAlerts(live=live, store=store, disk=disk, clock=clock, alerts=alerts),
    )


def reload_failed(own: OwnEvents, live: LiveRef, state: ReloadState) -> None:
    """Store an event of a reload that failed, once for each fault since one succeeded."""
    text = state.error or ""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    payload = {
        "generation": live.current.ruleset.generation[:12],
        "failures": state.failures,
        "diagnostics": shown(text, own.hide, DIAGNOSTICS_MAX),
    }
    own.soon("reload.failed", f"reload.failed/{state.succeeded_at}/{digest}", payload)
