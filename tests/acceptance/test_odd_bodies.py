"""Bodies that are no JSON, or too much of it: each is stored, and every reader can show it."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from router.cli.main import run
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.sink import Sink

pytestmark = pytest.mark.long

MIB = 1024**2
BODIES = {
    "empty": b"",
    "a deep beginning": b"[" * 100_000,
    "deep objects, begun": b'{"a":' * 100_000,
    "deep and whole": b"[" * 50_000 + b"]" * 50_000,
    "deeper than is read, hardly": b"[" * 65 + b"]" * 65,
    "as deep as is read": b"[" * 64 + b"]" * 64,
    "deep and wide": b"[" * 900 + b",".join([b"1"] * 450_000) + b"]" * 900,
    "read, deep and wide": b"[" * 60 + b",".join([b"1"] * 450_000) + b"]" * 60,
    "deep behind many quotes": b"[" * 100_000 + b'"' * 3_000_000,
    "5,000 digits": b'{"id":' + b"7" * 5_000 + b"}",
    "a large exponent": b'{"id":1e999999}',
    "a lone surrogate": b'{"text":"\\ud800"}',
    "a byte order mark": b'\xef\xbb\xbf{"id":1}',
    "NaN": b'{"id":NaN,"b":Infinity}',
    "NUL": b"\0\0{\0}",
    "NUL in a text": b'{"text":"a\\u0000b"}',
    "invalid UTF-8": b'{"text":"\xff\xfe\xc0\x80"}',
    "UTF-16": '{"id":1}'.encode("utf-16"),
    "controls": b"\x1b[31m\x9b\r\n\t\x7f<script>",
    "one key twice": b'{"a":1,"a":[2]}',
    "600,000 commas": b"[" + b"1," * 600_000 + b"1]",
    "24 MiB of text": b'{"text":"' + b"x" * (24 * MIB) + b'"}',
    "24 MiB of brackets": b"[" * (24 * MIB),
}
EVERYWHERE = ("empty", "a deep beginning", "5,000 digits", "a lone surrogate", "invalid UTF-8")
"""Sent to a sender of batches and to one of whatever body, too."""
RULES = """
secrets: {hub: {env: HUB}}
endpoints:
  signed: {paths: [/signed], provider: github, secrets: hub}
  code: {paths: [/code], provider: github, verify: none, dedupe: off}
  mail: {paths: [/mail], provider: sendgrid, verify: none, body_max: 25MiB, dedupe: off}
  any: {paths: [/any], provider: none, verify: none, body_max: 25MiB, dedupe: off}
rules:
  - {id: all, from: all, match: payload.text != 'no', actions: {log: seen}}
  - {id: some, from: [code, any], match: payload.id > 3, actions: {log: seen}}
"""
HEAVY = 64 * MIB
"""Nothing shown is longer: indenting may not make of a body many times what came."""


@dataclass
class World:
    """A router that holds every body at every endpoint. `ids` by (endpoint, name of the body)."""

    rig: Rig
    router: RouterProcess
    client: httpx.Client
    ids: dict[tuple[str, str], str]

    def send(self, endpoint: str, body: bytes) -> httpx.Response:
        url = f"{self.router.url}/{endpoint}"
        return self.client.post(url, content=body, headers={"x-github-event": "push"})


def where() -> Iterator[tuple[str, str]]:
    for name in BODIES:
        for endpoint in ("code", "mail", "any") if name in EVERYWHERE else ("code",):
            yield endpoint, name


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    keep = "  refusals: {bodies: true}\n"
    rig = Rig(tmp_path_factory.mktemp("odd") / "router", RULES, {"HUB": "h" * 32}, server=keep)
    with rig.router() as router, httpx.Client(trust_env=False, timeout=60) as client:
        made = World(rig, router, client, {})
        for endpoint, name in where():
            answer = made.send(endpoint, BODIES[name])
            assert answer.status_code == 200, (endpoint, name, answer.text)
            made.ids[endpoint, name] = answer.json()["delivery"]
        token = Path(f"{rig.store}.token").read_text("ascii").strip()
        client.post(f"{router.admin_url}/login", data={"token": token})
        client.headers["authorization"] = f"Bearer {token}"
        yield made
        assert router.running
        assert "Traceback" not in router.log.read_text("utf-8", "replace")


PATHS = (
    "/deliveries/{id}",
    "/deliveries/{id}?body=whole",
    "/deliveries/{id}?trace=all",
    "/deliveries/{id}/body",
    "/deliveries/{id}/try?text=payload.id+%3E+3",
    "/api/deliveries/{id}",
    "/api/deliveries/{id}/body",
)


@pytest.mark.parametrize("path", PATHS)
def test_pages_and_the_api_show_it(world: World, path: str) -> None:
    odd = []
    for which, id_ in world.ids.items():
        answer = world.client.get(world.router.admin_url + path.format(id=id_))
        if answer.status_code != 200 or len(answer.content) > HEAVY:
            odd.append((which, answer.status_code, len(answer.content)))
        if path.endswith("/body"):
            assert answer.content == BODIES[which[1]], which
    assert odd == []


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(world: World, capsys: pytest.CaptureFixture[str]) -> Command:
    def called(*words: str) -> tuple[int, str, str]:
        code = run([*words, "-f", str(world.rig.path)], os.environ)
        return (code, *capsys.readouterr())

    return called


@pytest.mark.parametrize(
    "words", ["show", "show --json", "explain", "explain --json", "replay --dry-run --json"]
)
def test_commands_show_it(world: World, command: Command, words: str) -> None:
    name, *options = words.split()
    odd = []
    for which, id_ in world.ids.items():
        code, out, err = command(name, id_, *options)
        if code != 0 or err or len(out) > HEAVY or "\x1b" in out:
            odd.append((which, code, len(out), err))
        elif "--json" in options:
            json.loads(out)
    assert odd == []


def test_listen_forwards_it_and_keeps_it(world: World, command: Command, tmp_path: Path) -> None:
    """The very bytes, in order; as text for a terminal, and in files."""
    with Sink() as sink:
        code, out, err = command(
            "listen", "--to", f"{sink.url}/in", "--since", "start", "--once", "--save",
            str(tmp_path / "saved"), "--checkpoint", str(tmp_path / "place"),
        )  # fmt: skip
    assert (code, err) == (0, "")
    assert [received.body for received in sink.received] == [BODIES[name] for _, name in where()]
    assert len(list((tmp_path / "saved").iterdir())) >= len(world.ids)
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "words",
    [
        "deliveries",
        "deliveries --json",
        "deliveries --where payload.id>3",
        "deliveries --where contains(payload.text,'x')",
        "dead",
        "rules",
        "audit",
        "replay --endpoint code --where payload.id>3 --dry-run",
    ],
)
def test_lists_pass_over_it(world: World, command: Command, words: str) -> None:
    code, _, err = command(*words.split())
    assert (code, [line for line in err.splitlines() if "unexpected" in line]) == (0, [])


def test_diff_reads_it(world: World, command: Command, tmp_path: Path) -> None:
    newer = tmp_path / "newer.yaml"
    newer.write_text(world.rig.path.read_text("utf-8").replace("payload.id > 3", "payload.id > 4"))
    code, out, err = command(
        "diff", str(world.rig.path), str(newer), "--store", str(world.rig.store)
    )
    assert (code, err) == (1, ""), out
    assert " compared" in out


def test_replays_route_it_anew(world: World, command: Command) -> None:
    """All at once, as an operator would who has mended a rule."""
    code, out, err = command("replay", "--endpoint", "any", "--yes")
    assert (code, err) == (0, ""), out


def test_a_refused_one_is_shown(world: World, command: Command) -> None:
    for name, body in BODIES.items():
        assert world.send("signed", body).status_code == 401, name
        [last] = json.loads(command("deliveries", "--refused", "--json")[1])[:1]
        page = world.client.get(f"{world.router.admin_url}/refused/{last['kept']}")
        assert page.status_code == 200, name
        code, out, err = command("doctor", "signed", "--refused", "last")
        assert (code, err, "unexpected" in out) == (1, "", False), name
