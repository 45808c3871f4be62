"""By which of an endpoint's paths a test sends."""

import random

from router.config import load, render_text
from router.rehearsal import TrialRunner

FILE = """
version: 1
server: {base_url: "https://hooks.example.com/in"}
endpoints:
  code: {id: code-0123456789abcdef, paths: [/api, /site], provider: github, verify: none}
rules:
  - {id: api, from: code, match: path == '/in/api', actions: {log: "{{ path }}"}}
  - {id: by-id, from: code, match: path == null, actions: {log: x}}
tests:
  - {name: api, send: {endpoint: code, path: /in/api, event: push},
     expect: {status: 200, matched: api, calls: {api/log: {message: /in/api}}}}
  - {name: site, send: {endpoint: code, path: /in/site, event: push}, expect: {matched: []}}
  - {name: by its id, send: {endpoint: code, event: push}, expect: {matched: by-id}}
"""


def test_the_path_that_a_step_names_is_what_rules_see() -> None:
    loaded = load(FILE, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(7).randbytes)
    assert [(t.name, runner.run(t).failures) for t in loaded.trials] == [
        ("api", ()),
        ("site", ()),
        ("by its id", ()),
    ]


def test_it_is_one_of_the_endpoint() -> None:
    loaded = load(FILE.replace("path: /in/site", "path: /site"), path="rules.yaml", env={})
    [found] = [d for d in loaded.diagnostics if d.severity == "error"]
    assert (found.code, found.hint) == (
        "bad-step",
        "it is served at /in/wh_code-0123456789abcdef, /in/api, /in/site",
    )
    assert found.message == "the endpoint 'code' has no path '/site'"
