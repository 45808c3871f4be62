"""
Checks of a whole rules file: a function each, and a row each in CHECKS.

A check looks at a file that has been read and compiled, and yields what it finds: where, what is
wrong, and how to mend it. Its row holds its code, what the code says, and when it runs. To add one:
write the function here and its row below, and `bad.yaml` and `good.yaml` in
`tests/golden/codes/CODE/`; `GOLDEN=write pytest -n0 tests/golden/test_codes.py` then makes its page
and its line in docs/diagnostics.md. What one key alone shows is found where that key is compiled.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from router.config.checks import (
    attempts,
    calls,
    commands,
    expiry,
    lookalikes,
    names,
    rules,
)
from router.config.checks.base import CompiledFile, FileCheck, Place, SourceSpan, TextSpan
from router.yaml_source import SourceText, instead, opening, within

__all__ = ["CHECKS", "CompiledFile", "FileCheck", "run_checks"]


def run_checks(file: CompiledFile, when: str) -> None:
    """Report what the checks find that run now."""
    report = file.context.report
    for check in CHECKS:
        if check.when == when:
            add = report.error if check.severity == "error" else report.warning
            for place, message, *hint in check.run(file):
                add(check.code, message, *_offsets(file, place), *_answers(place, hint))


def _answers(place: Place, hint: Iterable[str]) -> Iterator[str | None]:
    """The hint, if there is one, as it must be written at the place."""
    if isinstance(place, TextSpan):
        return (within(one, place.text.node) for one in hint)
    if isinstance(place, SourceSpan):
        return iter(hint)
    node = place.node if isinstance(place, SourceText) else place
    return (instead(one, node) for one in hint)


def _offsets(file: CompiledFile, place: Place) -> tuple[int, int]:
    if isinstance(place, TextSpan):
        return file.context.span(place.text, (place.start, place.end))
    if isinstance(place, SourceSpan):
        return place.start, place.end
    return opening(place.node if isinstance(place, SourceText) else place)


_warned = partial(FileCheck, when="thorough", severity="warning")
CHECKS = (
    FileCheck("define-cycle", "A definition needs itself.", names.define_cycles),
    FileCheck("duplicate-rule", "Two rules have the same id.", rules.duplicate_rules),
    FileCheck(
        "otherwise-with-match",
        "`otherwise` and `match` exclude each other.",
        rules.otherwise_with_match,
    ),
    FileCheck(
        "never-matches",
        "An empty list means that the rule could never match.",
        rules.never_matching,
    ),
    FileCheck(
        "empty-match",
        "`match` is an empty list: the rule would take every event.",
        rules.empty_matches,
    ),
    FileCheck("no-actions", "A rule has an empty list of actions.", rules.without_actions),
    FileCheck(
        "unreachable-otherwise",
        "An `otherwise` rule can never run, because another rule always matches.",
        rules.unreachable_rules,
        severity="warning",
    ),
    FileCheck(
        "never-stored",
        "An action reads a field that its endpoint never stores.",
        rules.never_stored,
        "right",
    ),
    FileCheck(
        "unused-secret", "A secret is used nowhere.", names.unused_secrets, "right", "warning"
    ),
    FileCheck(
        "unused-target", "A target is used by no action.", names.unused_targets, "right", "warning"
    ),
    _warned("unused-var", "A variable is used nowhere.", names.unused_variables),
    _warned("unused-define", "A definition is used nowhere.", names.unused_definitions),
    _warned("unused-endpoint", "No rule takes the events of an endpoint.", names.unused_endpoints),
    _warned("unused-retry", "A retry policy is used nowhere.", names.unused_retries),
    _warned(
        "unused-provider", "A provider of your own is used by no endpoint.", names.unused_providers
    ),
    _warned(
        "listed-twice",
        "An event or endpoint is listed twice, or is part of another in the list.",
        rules.listed_twice,
    ),
    _warned(
        "header-never-there",
        "A header is read by a name with capitals.",
        names.headers_never_there,
    ),
    _warned(
        "not-a-template",
        "A text looks like a template of another tool, or lacks braces: it is sent as it stands.",
        lookalikes.texts_like_templates,
    ),
    _warned(
        "argument-like-option",
        "An argument may begin with `-`: it is all a template, and no `--` stands before it.",
        commands.arguments_like_options,
    ),
    _warned(
        "body-with-get",
        "A GET or HEAD is sent with a body, which servers ignore or refuse.",
        calls.bodies_of_get,
    ),
    _warned(
        "secret-in-clear",
        "A secret is sent by plain http to another machine.",
        calls.secrets_in_clear,
    ),
    _warned(
        "private-name",
        "A private name is called, and no private address is allowed.",
        calls.private_names,
    ),
    _warned(
        "calls-itself",
        "An action calls the address of one of the router's own endpoints.",
        calls.calls_of_itself,
    ),
    _warned(
        "signing-secret-sent",
        "A secret that verifies deliveries is sent to somebody else.",
        calls.signing_secrets_sent,
    ),
    _warned(
        "delay-never-comes",
        "A retry schedule goes on beyond the seven days that a job is tried for.",
        attempts.delays_beyond_age,
    ),
    _warned(
        "answer-too-late",
        "Answers may take longer than an endpoint's sender waits for one.",
        attempts.answers_too_late,
    ),
    _warned("secret-expired", "A secret's `until` is past.", expiry.expired_secrets),
    FileCheck(
        "no-secret-left",
        "The `until` of every secret of an endpoint is past: it refuses every delivery.",
        expiry.endpoints_without_secret,
        "thorough",
    ),
    _warned("secret-in-file", "A secret's value is written into the file.", calls.secrets_in_file),
    _warned(
        "text-within-json",
        "A template stands in the quotes of JSON that is written by hand.",
        calls.texts_within_json,
    ),
    _warned(
        "json-in-text",
        "`json` is a text that holds JSON: it is sent in quotes.",
        calls.json_in_texts,
    ),
)
