"""What commands and plugins learn of the router beside them, as its own user and as another."""

import base64
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests import ledger
from tests.acceptance.conftest import Send
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import ENDPOINTS, code, environ

NOBODY = 65534
WITHOUT_RIGHTS = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
"""Still root, and owner of all its files; but the kernel lets it look into nobody else."""


def as_nobody(*rights: str) -> tuple[str, ...]:
    """What runs a command as another user than root, with these rights only."""
    sets = ("-all", *(f"+{right}" for right in rights))
    return (
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        *(f"--{name}={','.join(sets)}" for name in ("inh-caps", "ambient-caps", "bounding-set")),
    )


AGAIN = "import router, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"


def works(tracer: tuple[str, ...]) -> bool:
    """Whether it can run this interpreter, and that can run another."""
    command = [*tracer, sys.executable, "-c", AGAIN]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(params=["own user, no rights", "another user"])
def tracer(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """
    What runs the router so that its user may not look into every process: as root may.

    An interpreter in root's home is out of reach for others without a right to read.
    """
    if os.geteuid():
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root looks into every process, and there is no setpriv to become less")
    if request.param == "another user":
        ways = [as_nobody(), as_nobody("dac_read_search"), as_nobody("dac_override")]
    else:
        ways = [WITHOUT_RIGHTS]
    for way in ways:
        if works(way):
            return way
    pytest.skip("this interpreter cannot be run with fewer rights")


PEEK = """
import os

def opened(process):
    "What of a process opens, by name."
    found = []
    for name in ("environ", "mem", "fd/0"):
        try:
            open(f"/proc/{process}/{name}", "rb").close()
        except OSError:
            continue
        found.append(name)
    return found

def hold(event, context):
    assert context.secrets["code"]
    with open("held", "w") as pipe:
        pipe.write(str(os.getpid()))
    open("done").close()

def peek(event, context):
    with open("held") as pipe:
        neighbour = int(pipe.read())
    open("done", "w").close()
    return {"router": opened(os.getppid()), "neighbour": opened(neighbour)}
"""
RULES = """
rules:
  - id: peek
    from: code
    actions:
      - id: shell
        shell:
          script: |
            for process in $PPID self; do
              for name in environ mem fd/0; do
                if true <"/proc/$process/$name"; then echo "$process $name"; fi
              done
            done 2>/dev/null
            ulimit -c
      - {id: hold, python: {call: "peek:hold", secrets: [code]}}
      - {id: peek, python: {call: "peek:peek"}}
"""


@pytest.fixture
def rig(tracer: tuple[str, ...]) -> Iterator[Rig]:
    """A folder that whoever runs the router owns and reaches: pytest's own is closed to others."""
    with tempfile.TemporaryDirectory() as place:
        rig = Rig(Path(place) / "router", ENDPOINTS + RULES, environ())
        (rig.folder / "plugins").mkdir()
        (rig.folder / "plugins" / "peek.py").write_text(PEEK)
        for name in ("held", "done"):
            os.mkfifo(rig.folder / name)
        if f"--reuid={NOBODY}" in tracer:
            for path in (rig.folder.parent, rig.folder, *rig.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield rig


@pytest.mark.long
def test_neither_commands_nor_plugins_see_what_the_router_holds(
    rig: Rig, send: Send, tracer: tuple[str, ...]
) -> None:
    with serving(rig, tracer) as router:
        assert send(rig, code(), 1).status_code == 200
        router.until(lambda: ledger.counts(rig.store).succeeded == 3, "three jobs")
        found = results(rig.store)
    seen = found["shell"]["stdout"].splitlines()
    assert [line for line in seen if not line.startswith("self")] == ["0"]
    assert "self environ" in seen, "or this would find nothing anywhere"
    assert found["peek"]["value"] == {"router": [], "neighbour": []}


def results(store: Path) -> dict[str, Any]:
    """What each action's attempt left, by plain SQL."""
    with closing(ledger.connect(store)) as db:
        rows = db.execute("SELECT j.action, a.result FROM attempts a JOIN jobs j ON a.job = j.n")
        return {action: json.loads(result) for action, result in rows}


def serving(rig: Rig, tracer: tuple[str, ...]) -> RouterProcess:
    return RouterProcess(rig.path, rig.listen, rig.admin, rig.environ, tracer=tracer)


AS_NOBODY = """
rules:
  - id: look
    from: code
    actions:
      shell:
        script: |
          id -G
          for file in FOLDER/router.db* FOLDER/rules.yaml "/proc/$PPID/environ"; do
            if true <"$file"; then echo "$file"; fi
          done 2>/dev/null
        interpreter: [setpriv, --reuid=nobody, --regid=nogroup, --clear-groups, --, sh, -eu]
        cwd: /
"""


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run commands as somebody else")
def test_a_command_of_another_user_reads_no_file_of_the_router(send: Send) -> None:
    """Neither token nor store, though the folder is open to everybody."""
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        rig = Rig(Path(place), ENDPOINTS + AS_NOBODY.replace("FOLDER", place), environ())
        rig.path.chmod(0o644)
        with rig.router() as router:
            assert send(rig, code(), 1).status_code == 200
            router.until(lambda: ledger.counts(rig.store).succeeded == 1, "the job")
            seen = results(rig.store)["shell"]["stdout"].splitlines()
            assert (rig.folder / "router.db.token").is_file()
    assert seen == [str(nobody.pw_gid), str(rig.path)]


# -- outputs --------------------------------------------------------------------------------------

TELL = """
import sys
from router.plugin import Fail

def known():
    with open("known") as file:
        return file.read()

def returns(event, context):
    print(known()[:9], end="", flush=True)
    print(known()[9:], file=sys.stdout, flush=True)
    context.logger.warning("log %s", known())
    return {known(): [known(), {"deep": known()}]}

def fails(event, context):
    raise Fail("because " + known())

def raises(event, context):
    print(known(), "x" * 65520, sep="", file=sys.stderr)
    raise ValueError("x" * 270 + known())
"""
TOLD = """
rules:
  - id: tell
    from: code
    actions:
      - {id: plain, shell: {script: "cat known; cat known >&2; base64 known"}}
      - id: pieces
        shell: {script: "head -c 9 known; tail -c +10 known; exit 78"}
      - id: tail
        shell:
          script: "cat known; head -c 65520 /dev/zero | tr '\\\\0' x"
      - {id: returns, python: {call: "tell:returns"}}
      - {id: fails, python: {call: "tell:fails"}}
      - {id: raises, python: {call: "tell:raises"}, retry: none}
      - {id: called, http: TARGET}
      - {id: later, after: plain, log: "{{ results.plain.stdout }}"}
"""


CANARY = "kq3vXz9/Lw7+Tn2Bd8-Jr5Hs6Fy4Pc1M"


class Echo(BaseHTTPRequestHandler):
    """Says a secret that nobody gave it, in the head, in the body, and where it is cut."""

    def do_POST(self) -> None:
        said = json.dumps({"error": CANARY}).encode()
        body = said + b"x" * (65536 - len(said) - 20) + CANARY.encode() * 2
        self.send_response(200)
        self.send_header("X-Token", f"is {CANARY}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Nothing."""


@pytest.fixture
def target() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.long
def test_no_output_brings_a_secret_into_the_store(tmp_path: Path, send: Send, target: str) -> None:
    """One that the router knows and that an action was not given, whatever prints it."""
    secrets = ENDPOINTS.replace("endpoints:", "  canary: {env: CANARY}\nendpoints:")
    rules = secrets + TOLD.replace("TARGET", target)
    rig = Rig(tmp_path / "router", rules, {**environ(), "CANARY": CANARY})
    (rig.folder / "known").write_text(CANARY)
    (rig.folder / "plugins").mkdir()
    (rig.folder / "plugins" / "tell.py").write_text(TELL)
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200
        router.until(lambda: len(results(rig.store)) == 8, "every action's end")
        found = results(rig.store)
        printed = router.output()
    assert found["plain"]["stdout"].startswith("***")
    assert found["tail"]["stdout"] == "***" + "x" * 65520
    assert found["returns"]["value"] == {"***": ["***", {"deep": "***"}]}
    assert found["called"]["headers"]["x-token"] == "is ***"
    files = b"".join(path.read_bytes() for path in rig.folder.glob("router.db*"))
    for piece in pieces(CANARY):
        assert piece.encode() not in files, piece
        assert piece not in printed, piece


def pieces(secret: str) -> list[str]:
    """Every six letters of it that stand together, and what stands in base64 for all of them."""
    plain = [secret[at : at + 6] for at in range(len(secret) - 5)]
    return [*plain, base64.b64encode(secret.encode()).decode()[:12]]
