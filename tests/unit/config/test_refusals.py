"""`server.refusals`: off unless the file says so."""

import pytest

from router.config import load

FILE = """\
version: 1
{server}
endpoints: {{e: {{id: e-0123456789abcdef0, provider: github, verify: none}}}}
rules: [{{id: r, from: e, actions: {{log: hi}}}}]
"""


@pytest.mark.parametrize(
    ("server", "kept"),
    [
        ("", False),
        ("server: {refusals: {}}", False),
        ("server: {refusals: {bodies: false}}", False),
        ("server: {refusals: {bodies: true}}", True),
    ],
)
def test_requests_are_kept_where_the_file_says_so(server: str, kept: bool) -> None:
    loaded = load(FILE.format(server=server), path="rules.yaml", env={})
    assert loaded.ruleset is not None
    assert loaded.ruleset.server.keep_refused is kept


def test_anything_else_is_an_error() -> None:
    loaded = load(FILE.format(server="server: {refusals: {bodies: 5}}"), path="r.yaml", env={})
    assert [d.code for d in loaded.diagnostics] == ["wrong-type"]
