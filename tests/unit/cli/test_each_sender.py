"""`router send` as each sender, and what `doctor` says of it with the right and a wrong secret."""

import json
from pathlib import Path

import pytest

from router.cli.sink_server import Received
from router.model.delivery import InboundRequest
from router.providers import Provider, builtin
from tests.captured import as_json
from tests.unit.cli.conftest import MakeSink, Router
from tests.unit.providers.makers import SENDERS, fixed_bytes, other_bytes

KEYED = [
    name
    for name in SENDERS
    for rule in [builtin()[name].definition.verify]
    if not rule.keyless and rule.certificate is None
]
"""Those whose proof needs nothing but the endpoint's secrets."""
KINDS = {"adyen", "code-host", "discord", "gitlab", "mailgun", "twilio"}
"""One of each kind of proof; all others are long."""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return tmp_path / "rules.yaml"


def written(rules: Path, provider: Provider) -> Path:
    """A file with an endpoint of a sender; its secret's file, the others beside it."""
    right, wrong = (provider.invent_secret(rng) for rng in (fixed_bytes, other_bytes))
    secrets = {"mine": right.verify, "right": right.verify, "wrong": wrong.verify}
    for name, value in (secrets | {"key": right.sign}).items():
        (rules.parent / name).write_bytes(value)
    rules.write_text(
        "version: 1\nserver: {base_url: 'https://hooks.example.com'}\n"
        "secrets: {mine: {file: mine}}\n"
        f"endpoints: {{e: {{id: e-0123456789abcdef, provider: {provider.name}, secrets: mine}}}}\n"
        "rules: [{id: all, from: all, actions: {log: x}}]\n"
    )
    return rules.parent / "mine"


def captured(rules: Path, received: Received) -> Path:
    """The request as `doctor --request` takes it."""
    path, _, query = received.path.partition("?")
    headers = tuple((n.lower().encode(), v.encode("latin-1")) for n, v in received.headers)
    own = tuple(h for h in headers if h[0] not in (b"host", b"accept", b"connection"))
    request = InboundRequest("POST", path.encode(), query.encode(), own, received.body, "", 0)
    file = rules.parent / "request.json"
    file.write_text(json.dumps(as_json(request)))
    return file


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in KINDS else pytest.mark.long) for n in KEYED]
)
def test_what_is_sent_is_genuine_and_a_wrong_secret_is_named(
    name: str, rules: Path, router: Router, sink: MakeSink
) -> None:
    provider, it, folder = builtin()[name], sink(), rules.parent
    secret = written(rules, provider)
    event = next((info.name for info in provider.events), "user.created")
    ran = router("send", "-f", rules, "e", event, "--to", it.url, "--key", folder / "key")
    assert (ran.code, ran.err) == (0, "")
    file = captured(rules, it.seen[0])

    def causes(*more: str | Path) -> list[str]:
        ran = router("doctor", "-f", rules, "--json", "--request", file, *more)
        return [one["code"] for one in json.loads(ran.out)["findings"]]

    assert causes() == ["genuine"]
    secret.write_bytes((folder / "wrong").read_bytes())
    assert "secret_wrong" in causes()
    assert causes("--secret-file", folder / "right") == ["secret_other"]
