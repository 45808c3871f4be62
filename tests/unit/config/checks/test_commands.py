"""Commands: arguments that may be options, code that would be made of events."""

import pytest

from tests.unit.config.checks import codes

SHELL = "rules: [{{id: a, from: shop, events: orders/paid, actions: {{shell: {{{0}}}}}}}]\n"


def argv(*words: str) -> list[str]:
    listed = ", ".join(f'"{word}"' for word in words)
    return codes(SHELL.format(f"argv: [{listed}]"))


@pytest.mark.parametrize("path", ["payload.name", "payload.email", "lower(payload.name)"])
def test_an_argument_that_is_all_the_events_needs_two_dashes(path: str) -> None:
    assert argv("echo", f"{{{{ {path} }}}}") == ["argument-like-option"]
    assert argv("echo", "--", f"{{{{ {path} }}}}") == []
    assert argv("echo", f"order {{{{ {path} }}}}") == []


@pytest.mark.parametrize(
    "path",
    [
        "payload.id",
        "payload.test",
        "payload.created_at",
        "payload.financial_status",
        "shop",
        "event",
        "delivery.id",
        "sha256(payload.name)",
        "length(payload.line_items)",
    ],
)
def test_but_not_where_it_never_begins_with_one(path: str) -> None:
    assert argv("echo", f"{{{{ {path} }}}}") == []


@pytest.mark.parametrize(
    "words",
    [
        ("sh", "-c", "echo {{ payload.id }}"),
        ("bash", "-euo", "pipefail", "-c", "{{ payload.id }}"),
        ("/bin/bash", "-lc", "x {{ payload.id }}"),
        ("env", "A=1", "sh", "-ec", "x {{ payload.id }}"),
        ("python3", "-c", "print({{ payload.id }})"),
        ("perl", "-ne", "{{ payload.id }}"),
        ("node", "--eval", "{{ payload.id }}"),
    ],
)
def test_no_code_is_made_of_an_event(words: tuple[str, ...]) -> None:
    assert argv(*words) == ["template-not-here"]


@pytest.mark.parametrize(
    "words",
    [
        ("sh", "-c", "echo $1", "sh", "{{ payload.id }}"),
        ("sh", "run.sh", "-c", "n {{ payload.id }}"),
        ("grep", "-c", "n {{ payload.id }}"),
        ("python3", "-m", "tool", "-c", "n {{ payload.id }}"),
        ("sh", "-c", "echo {{ var.low }}"),
    ],
)
def test_what_stands_behind_code_or_is_none_may_be(words: tuple[str, ...]) -> None:
    listed = ", ".join(f'"{word}"' for word in words)
    used = '  - {id: b, from: shop, events: orders/create, actions: {log: "{{ var.low }}"}}\n'
    rules = SHELL.format(f"argv: [{listed}]").replace("rules: [", "rules:\n  - ")
    assert codes("vars: {low: 1}\n" + rules.replace("}}]\n", "}}\n") + used) == []


def test_a_program_with_its_arguments_in_one_word() -> None:
    assert argv("systemctl restart app") == ["program-not-there"]
    assert argv("/usr/bin/no-such-program restart app") == ["program-not-there"]
    assert argv("/opt/My Apps/run") == []
    assert argv("systemctl", "restart", "my app") == []


@pytest.mark.parametrize("value", ['"a\\nb"', '"a\\r{{ shop }}"', '"{{ shop }}\\n"'])
def test_a_header_is_one_line(value: str) -> None:
    call = f"{{url: https://erp.example.net/, headers: {{X-A: {value}}}}}"
    assert codes(f"rules: [{{id: a, from: shop, actions: {{http: {call}}}}}]") == ["bad-header"]
