"""Commands: arguments that may be options, code that would be made of events, variables."""

import pytest

from tests.unit.config.checks import codes, findings

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


def script(text: str, more: str = "") -> list[str]:
    lines = text.replace("\n", "\n          ")
    head = "rules:\n  - id: a\n    from: shop\n    actions:\n      shell:\n"
    found = findings(f"{head}        script: |\n          {lines}\n{more}")
    assert {code for code, _, _ in found} <= {"variable-not-given"}
    return [message.split("'")[1] for _, _, message in found]


@pytest.mark.parametrize(
    "text",
    [
        "echo $A",
        'echo "${A}" $A',
        'x=1; echo "it\'s $A $x"',
        'echo "$(cat "$A")"',
        "echo `cat $A`",
        "cat <<EOF\nit's $A\nEOF",
        "cat <<-'EOF'\n$B '\nEOF\necho $A",
        "echo ${A%.*} ${A#x} # $C don't",
        "echo \\$B '$B' \"\\$B $A\"",
        "f() { local b=$1; echo $b $A; }",
        "echo $(( $A + 1 ))",
    ],
)
def test_a_variable_that_nothing_sets(text: str) -> None:
    assert script(text) == ["A"]


@pytest.mark.parametrize(
    "text",
    [
        "echo $HOME $PATH $LANG $WEBHOOK_JOB $PWD $$ $1 $# $@ ${#A}",
        "A=1; B+=x; echo $A $B",
        "read -r A B; echo $A $B",
        "while read A; do echo $A; done",
        "for A in 1 2; do echo $A; done",
        "echo ${A:-x} ${B-} ${C:+x} ${D:?gone} ${E?gone}; : ${F:=1}; echo $F",
        "export A=1; local B; echo $A $B",
        ". ./env; echo $A",
        "eval x; echo $A",
        "awk '{print $NF, $A}' file",
        "cat <<'EOF'\n$A\nEOF",
        "printf -v A x; echo $A; getopts ab: B; echo $B",
        'x=$(case $1 in a) echo "b";; esac); echo $A',
        "echo 100$ $ $",
    ],
)
def test_variables_that_are_set_or_may_be_absent(text: str) -> None:
    assert script(text) == []


def test_the_action_gives_variables_and_another_interpreter_reads_others() -> None:
    assert script("echo $A", "        env: {A: x}") == []
    assert script("echo $A", "        pass_env: [A]") == []
    assert script("echo $A", "        files: {A: body}") == []
    assert script("print $A", "        interpreter: [perl]") == []
    assert script("echo $A", "        interpreter: [/bin/bash, -eu]") == ["A"]
    assert argv("sh", "-c", "echo $A") == ["variable-not-given"]
    assert argv("ssh", "host", "echo $A") == []


def test_a_program_with_its_arguments_in_one_word() -> None:
    assert argv("systemctl restart app") == ["program-not-there"]
    assert argv("/usr/bin/no-such-program restart app") == ["program-not-there"]
    assert argv("/opt/My Apps/run") == []
    assert argv("systemctl", "restart", "my app") == []


@pytest.mark.parametrize("value", ['"a\\nb"', '"a\\r{{ shop }}"', '"{{ shop }}\\n"'])
def test_a_header_is_one_line(value: str) -> None:
    call = f"{{url: https://erp.example.net/, headers: {{X-A: {value}}}}}"
    assert codes(f"rules: [{{id: a, from: shop, actions: {{http: {call}}}}}]") == ["bad-header"]
