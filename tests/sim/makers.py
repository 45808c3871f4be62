"""Deliveries, events, jobs and calls for tests of dispatch and actions."""

from typing import Any

from router.kinds.http import HttpCall
from router.kinds.shell import ShellCall
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import ActionKind, Job, NewJob

NOW = 1_750_000_000_000


def a_delivery(name: str = "dlv_1", **changes: Any) -> Delivery:
    values: dict[str, Any] = {
        "id": name,
        "endpoint": "shop",
        "provider": "commerce",
        "received_at": NOW,
        "method": "POST",
        "path": "/wh_x",
        "query": "",
        "headers": (),
        "body": b"{}",
        "verified_by": "shop",
        "state": "routed",
        "event_count": 1,
        "generation": "g1",
    }
    return Delivery(**{**values, **changes})


def an_event(index: int = 0) -> DeliveryEvent:
    return DeliveryEvent(
        id=f"evt_{index}", index=index, name="orders/paid", action=None, payload={}
    )


def a_new_job(name: str = "job_1", **changes: Any) -> NewJob:
    values: dict[str, Any] = {
        "id": name,
        "event_index": 0,
        "event_id": "evt_0",
        "event": "orders/paid",
        "rule": "r",
        "action": "a",
        "kind": "http",
        "target": "erp",
        "due_at": NOW,
    }
    return NewJob(**{**values, **changes})


def a_job(name: str = "job_1", kind: ActionKind = "http", **changes: Any) -> Job:
    values: dict[str, Any] = {
        "id": name,
        "delivery": "dlv_1",
        "endpoint": "shop",
        "event_index": 0,
        "event_id": "evt_0",
        "event": "orders/paid",
        "rule": "r",
        "action": "a",
        "kind": kind,
        "target": "erp",
        "state": "running",
        "due_at": NOW,
        "created_at": NOW,
        "generation": "g1",
        "attempt": 1,
        "lease": "boot/1",
        "started_at": NOW,
    }
    return Job(**{**values, **changes})


def an_http_call(url: str = "http://127.0.0.1:9/", **changes: Any) -> HttpCall:
    values: dict[str, Any] = {
        "method": "POST",
        "url": url,
        "shown_url": url,
        "headers": (("content-type", "application/json"),),
        "body": b"{}",
        "accept": ((200, 299),),
        "timeout_s": 10.0,
    }
    return HttpCall(**{**values, **changes})


def a_shell_call(*argv: str, **changes: Any) -> ShellCall:
    values: dict[str, Any] = {
        "argv": argv,
        "stdin": None,
        "env": {"PATH": "/usr/bin:/bin"},
        "cwd": "/",
        "timeout_s": 10.0,
    }
    return ShellCall(**{**values, **changes})
