"""What machines are given: escaped, complete, and valid where there is a standard."""

import json
from typing import Any

import pytest

from router.cli.check import FORMATS as OFFERED
from router.config.annotations import FORMATS, render
from router.config.codes import CODES
from router.errors import Diagnostic, Fix

FOUND = (
    Diagnostic(
        code="unknown-key",
        message="unknown key 'a,b:c%d\ne'",
        file="dir/my rules:1,2.yaml",
        line=3,
        column=5,
        width=2,
        hint="did you mean 'abc'?",
        source="    a,b: 1 \x07 \ud800",
        fix=Fix(3, 5, 8, "abc"),
    ),
    Diagnostic(
        code="unused-secret",
        message="the secret 'x' is used nowhere",
        file="/etc/rules.yaml",
        line=9,
        column=1,
        width=1,
        severity="warning",
    ),
)


def parsed(format_: str) -> Any:
    return json.loads(render(format_, FOUND))


def test_the_command_offers_what_there_is() -> None:
    assert OFFERED == FORMATS


def test_a_workflow_command_is_one_line_and_escaped() -> None:
    first, second = render("github", FOUND).splitlines()
    assert first == (
        "::error file=dir/my rules%3A1%2C2.yaml,line=3,col=5,endColumn=7,title=unknown-key"
        "::unknown key 'a,b:c%25d%0Ae': did you mean 'abc'?"
    )
    assert second.startswith("::warning file=/etc/rules.yaml,line=9,")


def test_a_log_for_code_scanning() -> None:
    run = parsed("sarif")["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "unknown-key",
        "unused-secret",
    ]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("unknown-key", "error", "warning")
    where = [r["locations"][0]["physicalLocation"] for r in (first, second)]
    assert where[0]["region"] == {"startLine": 3, "startColumn": 5, "endColumn": 7}
    assert [w["artifactLocation"] for w in where] == [
        {"uri": "dir/my%20rules%3A1%2C2.yaml", "uriBaseId": "%SRCROOT%"},
        {"uri": "file:///etc/rules.yaml"},
    ]
    assert set(run["originalUriBaseIds"]) == {"%SRCROOT%"}
    assert run["columnKind"] == "unicodeCodePoints"


def test_a_log_for_code_scanning_says_of_each_rule_once_what_it_means() -> None:
    run = parsed("sarif")["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [d.code for d in FOUND]
    first = rules[0]
    assert first["shortDescription"]["text"] == CODES["unknown-key"].about
    assert first["help"]["markdown"].startswith("# unknown-key\n")
    assert first["defaultConfiguration"] == {"level": "error"}
    assert "helpUri" not in first


def test_a_log_for_code_scanning_holds_the_answer_where_there_is_one() -> None:
    first, second = parsed("sarif")["runs"][0]["results"]
    assert "fixes" not in second
    (fix,) = first["fixes"]
    assert fix["description"] == {"text": "did you mean 'abc'?"}
    (change,) = fix["artifactChanges"]
    where = first["locations"][0]["physicalLocation"]["artifactLocation"]
    assert change["artifactLocation"] == where
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 3, "startColumn": 5, "endColumn": 8},
            "insertedContent": {"text": "abc"},
        }
    ]


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_found_is_said_in_every_format(format_: str) -> None:
    said = render(format_, ())
    if format_ in ("json", "sarif"):
        json.loads(said)
    else:
        assert said == ""
