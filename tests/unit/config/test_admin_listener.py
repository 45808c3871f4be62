"""`server.admin`: tokens, hosts, and no open listener without a token."""

from pathlib import Path

import pytest

from router.config import load
from router.model.settings import AdminToken, ListenerTls, ServerSettings

SECRETS = "secrets: {ann: {env: ANN}}\n"


def loaded(admin: str, *, dev: bool = False) -> tuple[ServerSettings | None, list[str]]:
    text = f"version: 1\nserver: {{admin: {admin}}}\n{SECRETS}"
    found = load(text, path="rules.yaml", env={"ADMIN": "127.0.0.1:9"}, dev=dev)
    codes = [d.code for d in found.diagnostics if d.severity == "error"]
    return found.ruleset.server if found.ruleset else None, codes


def test_tokens_and_hosts() -> None:
    server, codes = loaded(
        "{listen: '0.0.0.0:8001', hosts: [Ops.lan, '::1'], tokens: "
        "{ann: {secret: ann}, bob: {secret: ann, role: operator, bodies: false}}}"
    )
    assert codes == []
    assert server is not None
    assert server.admin == "0.0.0.0:8001"
    assert server.admin_hosts == ("ops.lan", "::1")
    assert server.admin_tokens == (
        AdminToken("ann", "ann", "viewer", True),
        AdminToken("bob", "ann", "operator", False),
    )


def test_a_certificate_of_its_own() -> None:
    server, codes = loaded("{tls: {cert: a.pem, key: /k/b.pem}}")
    assert codes == []
    assert server is not None
    assert server.admin_tls == ListenerTls(str(Path.cwd() / "a.pem"), "/k/b.pem")
    assert server.tls is None
    assert loaded("{tls: {}}")[1] == ["missing-key"]
    assert loaded("{tls: {key: b.pem}}")[1] == ["missing-key"]


def test_a_mapping_needs_no_address() -> None:
    server, codes = loaded("{tokens: {ann: {secret: ann}}}")
    assert codes == []
    assert server is not None
    assert server.admin == "127.0.0.1:8001"
    assert loaded("{env: ADMIN}")[1] == []


@pytest.mark.parametrize("listen", ["0.0.0.0:8001", "':8001'", "10.0.0.5:8001", "admin.lan:8001"])
def test_beyond_loopback_a_token_is_needed(listen: str) -> None:
    assert loaded(listen)[1] == ["admin-without-token"]
    assert loaded(f"{{listen: {listen}}}")[1] == ["admin-without-token"]
    assert loaded(f"{{listen: {listen}, tokens: {{ann: {{secret: ann}}}}}}")[1] == []
    assert loaded(listen, dev=True)[1] == []


@pytest.mark.parametrize("listen", ["127.0.0.1:1", "'[::1]:1'", "localhost:1", "127.9.9.9:1"])
def test_on_this_machine_none_is(listen: str) -> None:
    assert loaded(listen)[1] == []


@pytest.mark.parametrize(
    ("admin", "code"),
    [
        ("{tokens: {ann: {secret: nobody}}}", "unknown-secret"),
        ("{tokens: {ann: {role: viewer}}}", "missing-key"),
        ("{tokens: {ann: {secret: ann, role: owner}}}", "unknown-value"),
        ("{tokens: {ann: {secret: ann, role: admin, bodies: false}}}", "bad-value"),
        ("{tokens: {Ann: {secret: ann}}}", "bad-name"),
        ('{tokens: {"a\\r\\nb": {secret: ann}}}', "bad-name"),
        ("{tokens: {local: {secret: ann}}}", "bad-name"),
        ("{tokens: {token: {secret: ann}}}", "bad-name"),
        ("{hosts: 'https://ops.lan'}", "bad-address"),
        ("{hosts: 'ops.lan:8001'}", "bad-address"),
        ("{hosts: '*.lan'}", "bad-address"),
    ],
)
def test_what_is_wrong_is_said(admin: str, code: str) -> None:
    assert code in loaded(admin)[1]
