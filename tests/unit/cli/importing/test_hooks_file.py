"""Hooks files as webhook reads them, and what is said of them without their secrets."""

import pytest

from tests.importing import imported

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
    made = imported(YAML, name="hooks.yaml")
    assert "argv: [/bin/x]" in made.text
    words = "'1', 'TRUE', '', NO, '8', '16', 2020-01-01, -X"
    assert [f"      - {word}" in made.text for word in words.split(", ")] == [True] * 8
    _, output, key = made.listed
    assert output.message.startswith("the sender is answered before the command runs")
    assert (key.line, key.hint) == (4, "did you mean 'trigger-rule'?")


@pytest.mark.parametrize("text", ["", "null", "[]"])
def test_a_file_may_hold_no_hooks(text: str) -> None:
    assert imported(text).found == 0


@pytest.mark.parametrize("text", ["{}", "[1]", "[{", '[{"id": "a", "secret": "geheim"'])
def test_what_is_no_hooks_file_is_said_without_its_secrets(text: str) -> None:
    made = imported(text)
    assert (made.taken, made.listed[0].severity) == (0, "error")
    assert "geheim" not in made.shown


def test_calls_of_a_template_are_read_where_a_secret_stands() -> None:
    made = imported(TEMPLATE, "--template")
    assert "{env: HUB_SECRET}" in made.text
    assert made.secrets == {}
    assert [(one.line, one.column) for one in made.listed] == [(2, 76)]


def test_a_template_that_is_read_without_its_option_is_told_of_it() -> None:
    assert "read it by --template" in [one.hint for one in imported(TEMPLATE).listed]


def test_other_templates_are_named_and_nothing_is_read() -> None:
    text = TEMPLATE.replace('getenv "HUB_SECRET"', "range .Items")
    made = imported(text, "--template")
    assert made.found == 0
    assert "only getenv, credential and cat" in made.listed[0].message


def test_a_template_elsewhere_keeps_the_hook_out() -> None:
    text = TEMPLATE.replace("/bin/x", '{{ getenv "COMMAND" | js }}')
    made = imported(text, "--template")
    assert made.taken == 0
    assert "only secrets are taken from the environment" in made.listed[0].message


def test_no_line_that_is_shown_holds_a_secret_or_a_token() -> None:
    text = """[{"id": "a", "execute-command": "x", "no": 1, "trigger-rule": {"or": [
{"match": {"type": "payload-hmac-sha1", "secret": "geheim", "no": 1, "parameter": {"source": "header", "name": "S"}}},
{"match": {"type": "value", "value": "geheim", "no": 1, "parameter": {"source": "header", "name": "X-Token"}}}
]}}]"""  # noqa: E501
    made = imported(text)
    assert len(made.listed) == 4
    assert "geheim" not in made.shown


def test_a_fraction_without_quotes_is_another_text_for_webhook() -> None:
    text = "- {id: a, execute-command: x, response-message: 1.10}"
    made = imported(text, name="hooks.yaml")
    assert "answer: {body: '1.10'}" in made.text
    assert "another text of such a number" in made.shown
