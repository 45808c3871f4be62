"""`router.asgi:create_app` behind a server of somebody else's: unmodified uvicorn."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests import ledger
from tests.acceptance.asgi_server import AsgiProcess, asgi_process
from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import ENDPOINTS, code, environ, shop
from tests.docs.pages import blocks

pytestmark = pytest.mark.long

RULES = """
rules:
  - {id: note, from: shop, actions: [{shell: {script: "true"}}]}
"""
SLOW = """
rules:
  - {id: note, from: shop, actions: [{shell: {script: "sleep 1"}}]}
"""
MOUNTED = blocks("asgi.md", "python")[1].replace('"rules.yaml"', "{rules!r}")
PLAIN = "from router.asgi import create_app\n\napp = create_app({rules!r})\n"
BARE = (
    "from litestar import Litestar, asgi\n"
    + PLAIN.replace("app =", "hooks =")
    + 'app = Litestar([asgi("/hooks", is_mount=True, copy_scope=True)(hooks)])\n'
)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(tmp_path_factory.mktemp("asgi") / "router", ENDPOINTS + RULES, environ())


@pytest.fixture(scope="module")
def running(rig: Rig) -> Iterator[AsgiProcess]:
    with asgi_process(rig) as router:
        yield router


def _client(rig: Rig, **headers: str) -> httpx.Client:
    return httpx.Client(
        base_url=f"http://127.0.0.1:{rig.listen}", trust_env=False, timeout=10, headers=headers
    )


def _states(rig: Rig) -> list[str]:
    with closing(ledger.connect(rig.store)) as db:
        return [ledger.STATES[state] for (state,) in db.execute("SELECT state FROM jobs")]


def _token(rig: Rig) -> str:
    return Path(f"{rig.store}.token").read_text("ascii").strip()


def test_deliveries_are_stored_once_and_their_jobs_run(
    rig: Rig, running: AsgiProcess, send: Send
) -> None:
    first, again = send(rig, shop(), 1), send(rig, shop(), 1)
    assert (first.status_code, first.json()["status"]) == (200, "accepted")
    assert (again.status_code, again.json()["status"]) == (200, "duplicate")
    assert send(rig, shop(), 2, key=b"wrong").status_code == 401
    running.until(lambda: _states(rig) == ["succeeded"], "the job")
    asked = ("deliveries", "--server", running.url, "--json")
    ended, out, _ = called(rig, *asked, ROUTER_TOKEN=_token(rig))
    assert (ended, out.count(first.json()["delivery"])) == (0, 1)


PUBLIC = {"host": "hooks.example.com"}
ASKED = (
    ("POST", "/wh_unknown", PUBLIC, b"{}", 400, "server.admin.hosts"),
    ("PUT", "/wh_{code}", PUBLIC, b"{}", 405, '{"error":"method_not_allowed"}'),
    ("POST", "/wh_{code}", {"content-encoding": "br"}, b"{}", 415, "unsupported_encoding"),
    ("POST", "/wh_{code}", PUBLIC, b"x" * 30_000_000, 413, '{"error":"too_large"}'),
    ("POST", "/wh_{code}", PUBLIC, (b"x" * 1_000_000 for _ in range(30)), 413, "too_large"),
    ("POST", "//wh_{code}", PUBLIC, b"{}", 400, "server.admin.hosts"),
    ("GET", "/api/status", {}, None, 401, "a token is needed"),
    ("GET", "/metrics", {}, None, 401, "a token is needed"),
    ("GET", "/metrics", {"authorization": "Bearer TOKEN"}, None, 200, "router_"),
    ("GET", "/api/status", {"authorization": "Bearer TOKEN"}, None, 200, '"generation"'),
    ("GET", "/readyz", {}, None, 200, "ready"),
    ("GET", "/login", {}, None, 200, "<form"),
)


@pytest.mark.parametrize("row", ASKED, ids=lambda row: f"{row[0]} {row[1]} {row[4]}")
def test_paths_are_divided_and_operators_always_need_a_token(
    rig: Rig, running: AsgiProcess, row: tuple[str, str, dict[str, str], bytes | None, int, str]
) -> None:
    method, path, headers, body, status, words = row
    headers = {n: v.replace("TOKEN", _token(rig)) for n, v in headers.items()}
    path = path.replace("{code}", code().endpoint)
    with _client(rig, **headers) as client:
        answer = client.request(method, path, content=body)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text


def test_a_stop_waits_for_running_work(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(SLOW)
    with asgi_process(rig, PLAIN) as router:
        assert send(rig, shop(), 1).status_code == 200
        router.until(lambda: _states(rig) == ["running"], "the job")
        assert router.stop() is not None
    assert _states(rig) == ["succeeded"]


def test_a_second_one_on_the_same_store_does_not_start(rig: Rig, running: AsgiProcess) -> None:
    other = asgi_process(rig, PLAIN)
    other.listen = 0
    other.launch()
    assert other.ended(within=30) == 3
    assert "is in use" in other.output()
    assert "Traceback" not in other.output()
    assert running.running


def test_wrong_rules_are_explained_as_serve_explains_them(make_rig: MakeRig) -> None:
    rig = make_rig(RULES.replace("shell", "shel"))
    app = asgi_process(rig, PLAIN).launch()
    assert app.ended(within=30) == 3
    _, _, said = called(rig, "serve", str(rig.path))
    assert said.strip()
    assert said in app.output()
    assert "Traceback" not in app.output()


@pytest.mark.parametrize(
    ("source", "options", "path", "status"),
    [
        (MOUNTED, [], "", 404),
        (PLAIN, ["--root-path", "/hooks"], "", 200),
        (BARE, [], "/hooks", 503),
    ],
    ids=["beside the mount", "root_path", "no lifespan"],
)
def test_endpoints_are_found_below_a_mount(
    make_rig: MakeRig, source: str, options: list[str], path: str, status: int
) -> None:
    rig = make_rig(RULES)
    with asgi_process(rig, source, options=options), _client(rig) as client:
        said = client.send(
            shop().request(
                f"http://127.0.0.1:{rig.listen}{path}", 1, now_ms=time.time_ns() // 1_000_000
            )
        )
        assert said.status_code == status, said.text


def test_the_file_can_come_from_the_environment(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(RULES)
    rig.environ |= {"ROUTER_RULES": str(rig.path)}
    with asgi_process(rig, options=["--factory"], application="router.asgi:create_app"):
        assert send(rig, shop(), 1).status_code == 200
