"""
Which stage of a delivery's way a function belongs to, and a table of stages from stacks of them.

The innermost function that is listed decides; what is not of the router, and its helpers, belong to
who called them. A function of the router that nobody listed goes to `other`, by name: then it is
time to list it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

OTHER = "other"
LOOP = {
    "the loop itself, uvloop's reads": ("asyncio/runners.py:", "uvloop/", "router/cli/serve.py:"),
    "request, parse and head checks": (
        "router/web/protocol.py:",
        "router/web/bounded_connection.py:",
        "router/web/phases.py:",
        "router/web/head.py:",
        "router/web/connections.py:",
        "router/web/load_shedding.py:",
        "router/web/wire_request.py:",
    ),
    "answer, socket write": (
        "router/web/answers.py:",
        "router/web/bounded_connection.py:BoundedConnection.send",
    ),
    "Litestar's layers": ("litestar/",),
    "endpoint, sender, body": (
        "router/web/ingest.py:",
        "router/web/ingest_group.py:",
        "router/web/door.py:",
        "router/web/budget.py:",
        "router/web/client_address.py:",
        "router/structure.py:",
        "router/model/headers.py:",
    ),
    "verify": (
        "router/providers/verify.py:",
        "router/providers/provider.py:",
        "router/providers/scheme.py:",
        "router/providers/sign",
        "router/providers/keys.py:",
        "router/secrets.py:",
    ),
    "read, fields and events": ("router/providers/", "router/expressions/json_text.py:"),
    "intake": ("router/intake/",),
    "plan, scope, match, jobs": ("router/rules/",),
    "rows and submit": ("router/store/",),
    "pump and settle": ("router/dispatch/",),
    "render": ("router/rules/render.py:", "router/dispatch/rules_port.py:", "router/kinds/"),
    "run of the action": ("router/actions/", "router/wiring/action_table.py:", "router/egress.py:"),
    "HTTP client": ("router/actions/http_client/",),
    "observers": ("router/wiring/observers.py:",),
    "log lines": ("router/log/", "structlog/"),
    "counters": ("router/metrics/", "prometheus_client/"),
    "signal": ("router/web/signal.py:", "router/web/signal_stream.py:"),
    "upkeep": ("router/serving/",),
    "admin listener": ("router/web/admin/", "router/web/server.py:"),
}
WRITER = {
    "commit and sync": ("router/store/sqlite/writer_state.py:Book.commit",),
    "checkpoints": ("router/store/sqlite/writer.py:Writer._checkpoint",),
    "take, answer, wait": (
        "router/store/sqlite/writer.py:",
        "router/store/sqlite/store.py:",
        "router/store/sqlite/damage.py:",
        "queue.py:",
        "threading.py:",
    ),
    "upkeep": (
        "router/store/sqlite/pruning.py:",
        "router/store/sqlite/copying.py:",
        "router/store/sqlite/holding.py:",
        "router/store/sqlite/in_force.py:",
        "router/store/sqlite/clock_step.py:",
        "router/store/sqlite/runs.py:",
        "router/store/sqlite/audit_log.py:",
        "router/store/sqlite/operations.py:",
    ),
    "statements": (
        "router/store/sqlite/writer_state.py:Book.insert",
        "router/store/sqlite/writer_state.py:Book.begin",
        "router/store/sqlite/connection.py:",
    ),
    "names and numbers": (
        "router/store/sqlite/writer_state.py:",
        "router/store/sqlite/delivery_cache.py:",
    ),
    "rows of deliveries": ("router/store/sqlite/accepting.py:", "router/store/sqlite/rows.py:"),
    "rows of attempts": ("router/store/sqlite/settling.py:",),
    "leases": ("router/store/sqlite/leasing.py:",),
    "whether the file is still ours": ("router/store/sqlite/location.py:",),
}
HELPERS = (
    "router/clock.py:",
    "router/errors.py:",
    "router/expressions/",
    "router/legible.py:",
    "router/model/",
    "router/store/sqlite/fragments.py:",
    "router/__main__.py:",
)
"""Theirs is the stage of who calls them."""

INSTALLED = re.compile(r"^.*/(?:site-packages|lib/python3\.\d+)/")
Stages = Mapping[str, tuple[str, ...]]


def short(function: str, root: str) -> str:
    """`FILE:FUNCTION`, the file from the checkout or the packages on."""
    return INSTALLED.sub("", function.removeprefix(f"{root}/"))


def stage_of(function: str, stages: Stages) -> str | None:
    """The most exact line decides; None: whoever called it does."""
    found = [(len(p), s) for s, parts in stages.items() for p in parts if function.startswith(p)]
    if found:
        return max(found)[1]
    helper = function.startswith(HELPERS) or not function.startswith("router/")
    return None if helper else OTHER


def stage_of_stack(stack: Iterable[str], stages: Stages) -> tuple[str, str]:
    """Its stage, and the function that decided; the innermost one comes first."""
    functions = list(stack)
    for one in functions:
        if (stage := stage_of(one, stages)) is not None:
            return stage, one
    return OTHER, functions[0] if functions else "no function"


class Table(NamedTuple):
    """Seconds of each stage, and of each function in `other`."""

    stages: Counter[str]
    others: Counter[str]

    def rows(self) -> Iterator[tuple[str, float]]:
        """The dearest first; `other` at the end, with the names of its three dearest functions."""
        for stage, seconds in self.stages.most_common():
            if stage != OTHER and seconds:
                yield stage, seconds
        names = ", ".join(name for name, seconds in self.others.most_common(3) if seconds > 0)
        yield f"{OTHER} ({names})" if names else OTHER, self.stages[OTHER]


def table(stacks: Mapping[str, float], stages: Stages, root: str, seconds: float) -> Table:
    """The stages of these stacks, to which `seconds` in all are shared out as they had theirs."""
    whole = sum(stacks.values())
    scale = seconds / whole if whole else 0.0
    made = Table(Counter(), Counter())
    for stack, spent in stacks.items():
        functions = (short(one, root) for one in stack.split(";") if one)
        stage, function = stage_of_stack(functions, stages)
        made.stages[stage] += spent * scale
        if stage == OTHER:
            made.others[function] += spent * scale
    return made
