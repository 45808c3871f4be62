"""The router's own events, put together: who tells them, and what is watched for them."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from router import log as logs
from router.clock import Clock
from router.dispatch.dispatcher import Dispatcher
from router.metrics import Metrics
from router.model.ids import Ids
from router.model.target import TargetChange
from router.rules.live import LiveRef
from router.rules.own_events import DIAGNOSTICS_MAX, shown
from router.serving.conditions import (
    Expiring,
    Filling,
    Refusing,
    RememberedAlerts,
    Silences,
    TargetAlerts,
)
from router.serving.own_events import OwnEvents
from router.serving.silent_endpoints import Silence
from router.serving.verbs import ReloadState
from router.store.protocol import Store


def own_events(
    live: LiveRef,
    store: Store,
    *,
    wake: Callable[[str, int], None],
    ids: Ids,
    clock: Clock,
    metrics: Metrics,
) -> OwnEvents:
    """The teller, with the process's secrets masked; `watched` adds what it looks at."""
    return OwnEvents(
        live=live,
        store=store,
        wake=wake,
        hide=logs.REDACTOR.text,
        ids=ids,
        clock=clock,
        metrics=metrics,
        log=logs.get("own"),
    )


def watch(
    own: OwnEvents,
    live: LiveRef,
    store: Store,
    *,
    silence: Silence,
    dispatch: Dispatcher,
    clock: Clock,
    metrics: Metrics,
) -> None:
    """Have it look at endpoints, targets, secrets, the store and its disk."""
    told, tell = RememberedAlerts(store), own.tell
    folder = Path(live.current.ruleset.server.store).absolute().parent

    def disk() -> tuple[int, int]:
        usage = shutil.disk_usage(folder)
        return usage.total - usage.free, usage.total

    heard = dispatch.on_target_change

    def changed(change: TargetChange) -> None:
        heard(change)
        own.look_soon()

    dispatch.on_target_change = changed
    own.watches = (
        Refusing(live=live, metrics=metrics, clock=clock, told=told, tell=tell),
        Silences(live=live, silent=silence.silent, told=told, tell=tell),
        TargetAlerts(now=dispatch.targets, told=told, tell=tell),
        Expiring(live=live, clock=clock, told=told, tell=tell),
        Filling(live=live, store=store, disk=disk, clock=clock, told=told, tell=tell),
    )


def reload_failed(own: OwnEvents, live: LiveRef, state: ReloadState) -> None:
    """Tell of a reload that failed, once for each fault since the last that succeeded."""
    text = state.error or ""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    payload = {
        "generation": live.current.ruleset.generation[:12],
        "failures": state.failures,
        "diagnostics": shown(text, own.hide, DIAGNOSTICS_MAX),
    }
    own.soon("reload.failed", f"reload.failed/{state.succeeded_at}/{digest}", payload)
