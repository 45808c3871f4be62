"""The router's values for tests of its inside: a test names only what matters to it."""

from typing import Any

from router.expressions import compile as compiled
from router.expressions import compile_template
from router.expressions.field_paths import field_path
from router.kinds.http import HttpSpec
from router.kinds.log import LogSpec
from router.kinds.shell import ShellSpec
from router.model.delivery import Delivery, DeliveryEvent, InboundRequest
from router.model.job import Job
from router.model.retry import NONE, STANDARD
from router.model.settings import Dedupe, Endpoint, Redact, ServerSettings
from router.providers import builtin
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledAction, CompiledRule, Condition

NOW = 1_790_000_000_000
GENERATION = "feedfacefeedface"


def a_request(**given: Any) -> InboundRequest:
    """A POST of `{}` to /wh_x."""
    values: dict[str, Any] = {
        "method": "POST",
        "raw_path": b"/wh_x",
        "query_string": b"",
        "headers": (),
        "body": b"{}",
        "peer": "127.0.0.1",
        "received_at": NOW,
    }
    return InboundRequest(**{**values, **given})


def a_delivery(**given: Any) -> Delivery:
    """A routed commerce delivery of one event."""
    values: dict[str, Any] = {
        "id": "dlv_" + "0" * 26,
        "endpoint": "shop",
        "provider": "shopify",
        "received_at": NOW,
        "method": "POST",
        "path": "/wh_x",
        "query": "",
        "headers": (("content-type", "application/json"),),
        "body": b'{"id": 1}',
        "verified_by": "shop",
        "state": "routed",
        "event_count": 1,
        "generation": GENERATION,
    }
    return Delivery(**{**values, **given})


def an_event(**given: Any) -> DeliveryEvent:
    """An orders/paid event."""
    values: dict[str, Any] = {
        "id": "evt_" + "0" * 26,
        "index": 0,
        "name": "orders/paid",
        "action": None,
        "payload": {"id": 1},
    }
    return DeliveryEvent(**{**values, **given})


def a_job(**given: Any) -> Job:
    """A running job at its first attempt."""
    values: dict[str, Any] = {
        "id": "job_" + "0" * 26,
        "delivery": "dlv_" + "0" * 26,
        "endpoint": "shop",
        "event_index": 0,
        "event_id": "evt_" + "0" * 26,
        "event": "orders/paid",
        "rule": "r",
        "action": "a",
        "kind": "http",
        "target": "t",
        "state": "running",
        "due_at": NOW,
        "created_at": NOW,
        "generation": GENERATION,
        "attempt": 1,
        "lease": "boot/1",
    }
    return Job(**{**values, **given})


def a_log(text: str = "hello", id_: str = "log") -> CompiledAction:
    """A log action."""
    return CompiledAction(id_, "log", LogSpec(compile_template(text)), f"r/{id_}", NONE)


def an_http(**given: Any) -> CompiledAction:
    """An http action to http://127.0.0.1:9000/in; names are HttpSpec's."""
    values: dict[str, Any] = {
        "target": None,
        "url": compile_template("http://127.0.0.1:9000/in"),
        "method": "POST",
        "path": None,
        "query": (),
        "headers": (),
        "body_kind": "default",
        "body": None,
        "accept": ((200, 299),),
        "auth": None,
        "timeout_s": 30.0,
    }
    return CompiledAction("http", "http", HttpSpec(**{**values, **given}), "t", STANDARD)


def a_shell(**given: Any) -> CompiledAction:
    """A shell action running `true`; names are ShellSpec's."""
    values: dict[str, Any] = {
        "argv": (compile_template("true"),),
        "script": None,
        "interpreter": ("sh", "-eu"),
        "stdin": "default",
        "env": (),
        "pass_env": (),
        "cwd": "/",
        "timeout_s": 600.0,
    }
    return CompiledAction("shell", "shell", ShellSpec(**{**values, **given}), "r/shell", NONE)


def a_condition(item: Any) -> Condition:
    """A condition from `EXPR`, `{"not": …}` or `{"any": […]}`."""
    if isinstance(item, str):
        return Condition(item, compiled(item))
    if "not" in item:
        return Condition("not", None, a_condition(item["not"]))
    return Condition("any", None, None, tuple(a_condition(i) for i in item["any"]))


def a_rule(id_: str = "r", match: Any = (), **given: Any) -> CompiledRule:
    """A live rule of endpoint `shop` with one log action."""
    items = [match] if isinstance(match, str | dict) else match
    values: dict[str, Any] = {
        "about": "",
        "mode": "live",
        "sources": ("shop",),
        "events": None,
        "otherwise": False,
        "actions": (a_log(),),
    }
    return CompiledRule(id_, match=tuple(map(a_condition, items)), **{**values, **given})


def a_redact(*fields: str, **given: Any) -> Redact:
    """`redact:` of these fields, by default as soon as nothing is open."""
    paths = [field_path(compiled(text).tree) or () for text in fields]
    return Redact(fields, tuple(paths), **given)


def a_ruleset(*rules: CompiledRule, defines: dict[str, str] | None = None, **given: Any) -> Ruleset:
    """One shopify endpoint `shop` at /wh_x, and the rules given."""
    values: dict[str, Any] = {
        "generation": GENERATION,
        "text": "version: 1",
        "context": {},
        "folder": "/",
        "server": ServerSettings(),
        "secrets": {},
        "variables": {},
        "targets": {},
        "endpoints": {"shop": Endpoint("shop", "shopify", ("/wh_x",), ("shop",), dedupe=Dedupe())},
        "providers": builtin(),
        "dedupe_keys": {},
    }
    named = {name: compiled(text) for name, text in (defines or {}).items()}
    return Ruleset(**{**values, **given}, defines=named, rules=rules)
