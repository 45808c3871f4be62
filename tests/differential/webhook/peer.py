"""adnanh/webhook as a process, and what its commands were given."""

import http.client
import json
import os
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.acceptance.process import PATIENCE_S, free_ports
from tests.differential.webhook.requests import (
    CASE,
    RECORDER,
    CommandRun,
    HookAnswer,
    HookRequest,
    read_run,
)

PROGRAM = shutil.which("webhook")
POLL_S = 0.002
RAN = "ran"
"""What hooks answer whose command runs."""


def with_recorder(hooks: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """A hooks file whose hooks run the recorder, with the case as last argument."""
    recorder = folder / "recorder"
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    case = {"source": "header", "name": CASE}
    made = [
        {"execute-command": str(recorder), "response-message": RAN}
        | dict(hook)
        | {"pass-arguments-to-command": [*hook.get("pass-arguments-to-command", []), case]}
        for hook in hooks
    ]
    file = folder / "hooks.json"
    file.write_text(json.dumps(made, ensure_ascii=False, indent=1), "utf-8")
    return file


@contextmanager
def webhook(file: Path, home: Path) -> Iterator[int]:
    """webhook with this hooks file; the port. Its commands write into `home`."""
    (port,) = free_ports(1)
    options = ["-hooks", str(file), "-ip", "127.0.0.1", "-port", str(port)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    home.mkdir(exist_ok=True)
    with subprocess.Popen(
        [PROGRAM or "", *options], env=environ, stdout=subprocess.PIPE
    ) as process:
        try:
            _wait(lambda: _listens(port))
            yield port
        finally:
            process.kill()


def verdicts(port: int, requests: Sequence[HookRequest]) -> list[bool]:
    """Whether the command was to run; it may be one that is not there."""
    return [_sent(port, request, case) == (200, RAN) for case, request in enumerate(requests)]


def answers(
    port: int,
    requests: Sequence[HookRequest],
    home: Path,
    due: Collection[int] | None = None,
) -> list[HookAnswer]:
    """
    What came of each request, sent one after the other. `due` are those whose commands are waited
    for, else those that webhook answered so.
    """
    replied = [_sent(port, request, case) for case, request in enumerate(requests)]
    if due is None:
        due = [case for case, (status, text) in enumerate(replied) if status < 300 and text == RAN]
    runs: dict[int, CommandRun] = {}

    def all_ran() -> bool:
        runs.update(read_run(file) for file in home.glob("ran.*"))
        return set(due) <= runs.keys()

    _wait(all_ran)
    return [HookAnswer(*reply, runs.get(case)) for case, reply in enumerate(replied)]


def _sent(port: int, request: HookRequest, case: int) -> tuple[int, str]:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        query = f"?{request.query}" if request.query else ""
        link.putrequest(request.method, f"/hooks/{request.hook}{query}", skip_accept_encoding=True)
        for name, value in request.sent_headers(case):
            link.putheader(name, value.encode("latin-1"))
        link.putheader("Content-Length", str(len(request.body)))
        link.endheaders(request.body)
        reply = link.getresponse()
        return reply.status, reply.read().decode()
    finally:
        link.close()


def _listens(port: int) -> bool:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        link.request("GET", "/")
        return link.getresponse().status == 200
    except OSError:
        return False
    finally:
        link.close()


def _wait(holds: Any) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("webhook, or its commands, did not come")
        time.sleep(POLL_S)
