"""
The tasks. `before` are the steps they took at commit ccf41f84, `after` those that they take now.

A step is one line typed, one file edited, or one click; `router …` lines are really run by
`test_tasks.py`, and steps on pages by `tests/browser/test_tasks.py`. Names in capitals stand for
what the task is given: ORDER, JOB, DELIVERY, OTHER (ids), URL (of the admin listener), FILE.
"""

from typing import NamedTuple

Steps = tuple[str, ...]


class Task(NamedTuple):
    """
    What somebody wants, how, and what they then see.

    `before` None: it could not be done. `shows` are words of the last answer.
    """

    wants: str
    before: Steps | None
    after: Steps
    shows: str = ""


COMMANDS = (
    Task(
        "Is everything all right just now?",
        (
            "router targets",
            "router dead",
            "router deliveries --refused",
            "router rules",
            "router store info",
        ),
        ("router status",),
        "dead",
    ),
    Task(
        "Which orders failed since noon, why? Run them again",
        (
            "router dead --endpoint shop --since 2026-11-27T12:00:00Z",
            "router revive --endpoint shop --since 2026-11-27T12:00:00Z",
        ),
        (
            "router dead --endpoint shop --since 00:00",
            "router revive --endpoint shop --since 00:00 --yes",
        ),
        "revived",
    ),
    Task(
        "How many deliveries came in the last hour, and why were some refused?",
        (
            "router deliveries --since 1h --limit 10000 --json | jq length",
            "router deliveries --refused",
            "count them by reason",
        ),
        ("router status",),
        "signature",
    ),
    Task("Which target is the slowest?", None, ("router status",), "longest"),
    Task("When will the store be full?", None, ("router status",), "store"),
    Task(
        "What waits, for which target, since when?",
        (
            "router targets",
            "router deliveries --state available --limit 10000",
            "scroll to the oldest",
        ),
        ("router status",),
        "waiting",
    ),
    Task(
        "A sender says that it gets 401: why?",
        ("router doctor --refused last",),
        ("router doctor --refused last",),
        "signature",
    ),
    Task(
        "Watch dead letters while a deployment goes on",
        ("watch -n 2 router dead",),
        ("router dead --watch",),
    ),
    Task(
        "From my laptop: which deliveries and dead jobs has production?",
        (
            "export ROUTER_TOKEN=…",
            "router deliveries --server URL",
            "router dead --server URL",
        ),
        ("router login URL --name production", "router deliveries", "router dead"),
        "hopeless",
    ),
    Task(
        "Go on with the router here",
        ("unset ROUTER_TOKEN", "router dead"),
        ("router use local", "router dead"),
        "hopeless",
    ),
    Task(
        "Give a colleague a token that may only look",
        (
            "openssl rand -hex 32",
            "put it into the environment of the service",
            "edit rules.yaml: secrets and server.admin.tokens",
            "router check",
            "systemctl restart router",
        ),
        ("router token new anna --role viewer",),
        "anna",
    ),
    Task(
        "Take it away again",
        ("edit rules.yaml", "systemctl reload router"),
        ("router token revoke anna",),
        "anna",
    ),
    Task(
        "Who ran jobs again, and which? Do the same once more",
        ("router audit", "put the command together from its columns"),
        ("router audit", "paste the command that it shows"),
        "revived",
    ),
    Task(
        "Be told in Slack when jobs die, a target fails, the store fills",
        (
            "read docs/own-events.md",
            "edit rules.yaml: a secret, rules, their tests",
            "router check",
        ),
        ("router new alert alerts.yaml --to slack", "include alerts.yaml", "router check"),
        "rules.yaml: ok",
    ),
    Task(
        "Be told by e-mail three weeks before the certificate of the listener ends",
        None,
        (
            "router new alert mail.yaml --to email --address ops@example.net",
            "include mail.yaml",
            "router check",
        ),
        "rules.yaml: ok",
    ),
    Task(
        "Have deliveries forwarded to port 3000 of my machine",
        ("router listen --to http://127.0.0.1:3000",),
        ("router listen --to 3000",),
    ),
    Task(
        "Have my shell complete commands and names",
        ("router completion bash > ~/.router-complete.bash", "edit ~/.bashrc"),
        ("router completion zsh",),
    ),
    Task(
        "Find the delivery of one order",
        ('router deliveries --where "payload.id == ORDER"',),
        ('router deliveries --where "payload.id == ORDER"',),
        "dlv_",
    ),
    Task(
        "What became of it, and what did the target answer?",
        ("router show DELIVERY",),
        ("router show DELIVERY",),
        "410",
    ),
    Task(
        "Why did a rule not match it?",
        ("router explain DELIVERY --rule large-orders",),
        ("router explain DELIVERY --rule large-orders",),
        "payload.id",
    ),
    Task(
        "Make a test of it",
        ("router new test DELIVERY",),
        ("router new test DELIVERY",),
        "expect:",
    ),
    Task(
        "What would running the last two hours again do?",
        ("router replay --endpoint shop --since 2h --dry-run",),
        ("router replay --endpoint shop --since 2h --dry-run",),
        "would be replayed",
    ),
    Task(
        "Hold a target while it is repaired, then let it go on",
        ("router targets pause erp --reason repair", "router targets resume erp"),
        ("router targets pause erp --reason repair", "router targets resume erp"),
        "resumed",
    ),
    Task(
        "Drop what waits for a rule",
        ("router cancel --rule to-the-erp",),
        ("router cancel --rule to-the-erp --yes",),
        "cancelled",
    ),
    Task(
        "What would my change of the rules have done to the last day?",
        ("router diff rules.yaml new.yaml --since 1d",),
        ("router diff rules.yaml new.yaml --since 1d",),
        "large-orders",
    ),
)
"""Done at the command line."""

PAGES = (
    Task(
        "Which targets failed of late?",
        ("open /", "click Targets", "click Dead letters"),
        ("open /",),
        "erp",
    ),
    Task(
        "What differs between two deliveries?",
        (
            "open /deliveries",
            "open one",
            "open the other in a new tab",
            "look from one to the other",
        ),
        ("open /deliveries", "tick 1", "tick 2", "click Compare two"),
        "payload.total",
    ),
    Task(
        "How is a field of the body written in a condition?",
        ("open /deliveries/DELIVERY", "find it in the text", "write its path, a level at a time"),
        ("open /deliveries/DELIVERY", "search total", "click Copy path"),
        "payload.total",
    ),
    Task(
        "Make a rule of a delivery, with its test",
        (
            "open /deliveries/DELIVERY",
            "click Try a condition on it",
            "type payload.total > 100",
            "write the rule",
            "router new test DELIVERY",
            "put both into rules.yaml",
        ),
        (
            "open /deliveries/DELIVERY",
            "click Try a condition on it",
            "type payload.total > 100",
            "click Make a rule of it",
            "click Copy",
        ),
        "match: payload.total > 100",
    ),
    Task(
        "Run three deliveries again",
        (
            "open /deliveries",
            *("click the first", "click Replay", "back"),
            *("click the second", "click Replay", "back"),
            *("click the third", "click Replay"),
        ),
        (
            "open /deliveries",
            *("tick 1", "tick 2", "tick 3"),
            "click Plan a replay",
            "click Make 4 new jobs",
        ),
        "of 3 deliveries",
    ),
)
"""Done in a browser."""
