"""Hooks files as webhook reads them, and what is said of them without their secrets."""

import pytest

from router.cli.importing.hooks_file import is_yes, read_hooks
from router.cli.importing.webhook import WebhookFlags, imported
from router.config import render_text

YAML = """\
- id: deploy
  Execute-Command: /bin/x
  include-command-output-in-response: yes
  trigger-rul: {}
  http-methods: [1, on, ~, 'no', 010, 0x10, 2020-01-01, -x]
"""
TEMPLATE = """\
[{"id": "a", "execute-command": "/bin/x", "trigger-rule": {"match": {
  "type": "payload-hmac-sha1", "secret": "{{ getenv "HUB_SECRET" | js }}", "tru": 1,
  "parameter": {"source": "header", "name": "X-Sig"}}}}]
"""


def test_keys_count_in_any_case_and_plain_words_as_texts() -> None:
    report, (hook,) = read_hooks(YAML, "hooks.yaml")
    assert hook.text(hook.get("execute-command")) == "/bin/x"
    assert is_yes(hook.get("include-command-output-in-response"))
    methods = [hook.text(item) for item in hook.items(hook.get("http-methods"))]
    assert methods == ["1", "true", "", "no", "8", "16", "2020-01-01", "-x"]
    (found,) = report.sorted()
    assert (found.line, found.hint) == (4, "did you mean 'trigger-rule'?")


@pytest.mark.parametrize("text", ["", "null", "[]"])
def test_a_file_may_hold_no_hooks(text: str) -> None:
    assert read_hooks(text, "hooks.json")[1] == []


@pytest.mark.parametrize("text", ["{}", "[1]", "[{", '[{"id": "a", "secret": "geheim"'])
def test_what_is_no_hooks_file_is_said_without_its_secrets(text: str) -> None:
    made = imported([("hooks.json", text)], WebhookFlags())
    assert (made.taken, made.listed[0].severity) == (0, "error")
    assert "geheim" not in render_text(made.listed)


def test_calls_of_a_template_are_read_where_a_secret_stands() -> None:
    made = imported([("hooks.json", TEMPLATE)], WebhookFlags(template=True))
    assert "{env: HUB_SECRET}" in made.text
    assert made.secrets == {}
    assert [(one.line, one.column) for one in made.listed] == [(2, 76)]


def test_a_template_that_is_read_without_its_option_is_told_of_it() -> None:
    report, _ = read_hooks(TEMPLATE, "hooks.json")
    assert "read it by --template" in [one.hint for one in report.sorted()]


def test_other_templates_are_named_and_nothing_is_read() -> None:
    text = TEMPLATE.replace('getenv "HUB_SECRET"', "range .Items")
    made = imported([("hooks.json", text)], WebhookFlags(template=True))
    assert made.found == 0
    assert "only getenv, credential and cat" in made.listed[0].message


def test_a_template_elsewhere_keeps_the_hook_out() -> None:
    text = TEMPLATE.replace("/bin/x", '{{ getenv "COMMAND" | js }}')
    made = imported([("hooks.json", text)], WebhookFlags(template=True))
    assert made.taken == 0
    assert "only secrets are taken from the environment" in made.listed[0].message


def test_no_line_that_is_shown_holds_a_secret_or_a_token() -> None:
    text = """[{"id": "a", "execute-command": "x", "no": 1, "trigger-rule": {"or": [
{"match": {"type": "payload-hmac-sha1", "secret": "geheim", "no": 1, "parameter": {"source": "header", "name": "S"}}},
{"match": {"type": "value", "value": "geheim", "no": 1, "parameter": {"source": "header", "name": "X-Token"}}}
]}}]"""  # noqa: E501
    made = imported([("hooks.json", text)], WebhookFlags())
    assert len(made.listed) == 4
    assert "geheim" not in render_text(made.listed)


def test_a_fraction_without_quotes_is_another_text_for_webhook() -> None:
    report, (hook,) = read_hooks("- {id: a, response-message: 1.10}", "hooks.yaml")
    assert hook.text(hook.get("response-message")) == "1.10"
    assert "another text of such a number" in report.sorted()[0].message
