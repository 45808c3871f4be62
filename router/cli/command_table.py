"""The table of commands: the group of `router --help` that each is in, and its module."""

from collections.abc import Mapping

Rows = Mapping[str, tuple[str, str]]

GROUPS: Mapping[str, Rows] = {
    "Run a router": {
        "new": ("router.cli.new", "Make a rules file, or something to paste into one."),
        "import": ("router.cli.import_rules", "Make rules of another program's configuration."),
        "serve": ("router.cli.serve", "Run the server: receive, store and route deliveries."),
        "login": ("router.cli.login", "Work with a router elsewhere from now on."),
        "use": ("router.cli.login", "Choose the router that commands speak to."),
        "logout": ("router.cli.login", "Forget a router elsewhere, and its token."),
        "completion": ("router.cli.completion", "Have the tab key complete commands and names."),
    },
    "Look at what came, and what became of it": {
        "status": ("router.cli.status", "What came, failed and waits, and what needs attention."),
        "deliveries": ("router.cli.lists", "The deliveries, newest first."),
        "show": ("router.cli.show", "Everything about one delivery or job."),
        "explain": ("router.cli.explain", "Why each rule matched a delivery, or did not."),
        "dead": ("router.cli.lists", "Jobs that failed for good, by cause."),
        "rules": ("router.cli.lists", "The rules: how often each matched, and its jobs."),
        "targets": ("router.cli.targets", "Where work goes, and how it stands; pause, resume."),
        "export": ("router.cli.export", "All that is stored about one person, as JSON."),
        "audit": ("router.cli.lists", "Who changed what, and when."),
    },
    "Do something about it": {
        "replay": ("router.cli.replay", "Run stored deliveries or jobs again, as new jobs."),
        "revive": ("router.cli.operate", "Try dead jobs again from the start."),
        "resume": ("router.cli.operate", "Run jobs, where `serve --hold` holds them."),
        "cancel": ("router.cli.operate", "End jobs that have not run yet."),
        "erase": ("router.cli.erase", "Erase one person's data, and all that came of it."),
    },
    "Develop rules": {
        "check": ("router.cli.check", "Find the mistakes in a rules file, without running it."),
        "test": ("router.cli.test", "Run the tests of a rules file: nothing listens or is called."),
        "diff": ("router.cli.diff", "What changed rules would do to the deliveries that came."),
        "listen": ("router.cli.listen", "Forward deliveries to your own machine."),
        "sink": ("router.cli.sink", "A target for tests: it prints what it receives."),
        "schema": ("router.cli.schema", "The JSON Schema of rules files, for editors."),
    },
    "Deal with senders": {
        "addresses": ("router.cli.addresses", "The URLs to give to the senders."),
        "providers": ("router.cli.providers", "The known senders: headers, limits, events."),
        "send": ("router.cli.send", "Send a signed test delivery, as a sender would."),
        "doctor": ("router.cli.doctor", "Why deliveries do not come, or are refused."),
        "recover": ("router.cli.recover", "Ask a sender for what it could not deliver."),
        "subscriptions": (
            "router.cli.subscriptions",
            "Subscribe at a sender by its API, and ask for a test.",
        ),
        "dispatch-event": ("router.cli.dispatch_event", "Trigger a repository dispatch event."),
    },
    "Keep the store and the tokens": {
        "token": ("router.cli.token", "Who may look and act, by name: make, list, revoke."),
        "store": ("router.cli.store", "Back up, restore, prune, migrate, and how large it is."),
    },
}
"""
The groups in the order in which people meet them. Each command: the module that holds it, under the
command's own name, and one line of help. A new command is one more row.
"""

COMMANDS: Rows = {name: row for rows in GROUPS.values() for name, row in rows.items()}
