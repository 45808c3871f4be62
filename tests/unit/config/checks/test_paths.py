"""What is said of conditions on the path of a request."""

import pytest

from router.config import load

FILE = """
version: 1
server: {{base_url: "https://hooks.example.com/in"}}
secrets: {{hub: {{env: HUB}}}}
endpoints:
  two: {{paths: [/a, /b], provider: github, secrets: hub}}
  lone: {{id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, secrets: hub}}
rules:
  - {{id: r, from: {source}, events: push, match: "{match}", actions: {{log: x}}}}
"""


def said(match: str, source: str) -> list[str | None]:
    text = FILE.format(match=match, source=source)
    found = load(text, path="rules.yaml", env={}, thorough=True).diagnostics
    return [d.hint for d in found if d.code == "path-not-served"]


@pytest.mark.parametrize(
    ("match", "source", "hints"),
    [
        ("path == '/in/a'", "two", []),
        ("path == '/in/a' || $.path != '/in/b'", "two", []),
        ("path == '/in/b'", "all", []),
        ("path != null && starts_with(path, '/x')", "two", []),
        ("payload.commits[?$.path == '/x']", "two", []),
        ("path == '/a'", "two", ["their paths: /in/a, /in/b"]),
        ("payload.forced && !('/im/a' == $.path)", "two", ["did you mean '/in/a'?"]),
        (
            "path == '/in/a'",
            "lone",
            ["they are reached by their ids alone, and then 'path' is null"],
        ),
        ("path == '/in/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54'", "all", ["their paths: /in/a, /in/b"]),
    ],
)
def test_a_path_that_is_not_served_is_said(match: str, source: str, hints: list[str]) -> None:
    assert said(match, source) == hints
