"""Keys that other tools have where a rules file has others: what they are called here."""

from router.yaml_source import Refusal

_FOREIGN: dict[str, dict[str, str]] = {
    "FileEntry": {
        "endpoints": "sources hooks webhooks listeners",
        "targets": "destinations outputs",
        "rules": "routes workflows jobs connections triggers",
        "vars": "env environment variables",
        "define": "definitions",
    },
    "EndpointEntry": {"provider": "type source sender", "secrets": "secret_key token"},
    "RuleEntry": {
        "id": "name title",
        "about": "description comment desc",
        "from": "source endpoint webhook provider",
        "events": "on topic topics trigger triggers",
        "match": "if condition conditions filter filters where when trigger-rule",
        "actions": "then do steps run uses execute-command jobs to destination",
        "mode": "enabled disabled active",
    },
    "ActionEntry": {
        "shell": "run command cmd exec execute script argv bash",
        "http": "url uri webhook post request fetch curl",
        "use": "uses",
        "when": "if condition",
        "after": "needs depends_on",
        "id": "name",
        "retry": "retries",
        "log": "echo print",
    },
    "HttpEntry": {
        "url": "uri endpoint address",
        "json": "data payload",
        "headers": "header",
        "accept": "expect status",
    },
    "ShellEntry": {
        "script": "run command cmd",
        "argv": "args arguments",
        "cwd": "working-directory working_directory dir workdir",
        "env": "environment",
    },
}

FOREIGN: dict[tuple[str, ...], Refusal] = {
    (entry, name): Refusal(
        "unknown-key", f"unknown key '{name}'", f"here it is called '{meant}'", meant
    )
    for entry, table in _FOREIGN.items()
    for meant, names in table.items()
    for name in names.split()
}
"""What is said of each, by the entry of schema.py that would have it."""
