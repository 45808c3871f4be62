"""The imported rules in a router without a world, whose commands really run."""

import os
import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from router.config import load, render_text
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.kinds.shell import ShellCall
from router.model.delivery import InboundRequest
from router.model.job import Done, Job, Outcome
from router.rehearsal.record import TrialRecord
from router.rehearsal.run import Rig
from router.rehearsal.senders import invented
from router.rules.live import LiveRuleset, SecretValues
from router.store.sqlite.inline import Memory
from tests.differential.webhook.requests import NOTHING, HookAnswer, HookRequest, read_run
from tests.importing import Imported, imported


def rules_of(file: Path) -> Imported:
    """What the import makes of a hooks file."""
    return imported(file.read_text("utf-8"))


class ImportedRouter:
    """One router of imported rules."""

    def __init__(self, made: Imported, home: Path, *, runs: bool = True) -> None:
        """Without `runs` its commands do nothing."""
        loaded = load(made.text, path=str(home / "rules.yaml"), env={}, tests=True)
        assert loaded.ruleset is not None, render_text(loaded.diagnostics)
        self.ruleset = loaded.ruleset
        self._home, self._now_ms = home, time.time_ns() // 1_000_000
        home.mkdir(exist_ok=True)
        values = {
            name: made.secrets[f"{name.upper()}_SECRET"].encode() for name in self.ruleset.secrets
        }
        self._keys = invented(self.ruleset, random.Random(1).randbytes)
        self._live = LiveRuleset(self.ruleset, SecretValues(values, {}))
        self._action = _Running(self._home if runs else None)

    def answers(self, requests: Sequence[HookRequest]) -> list[HookAnswer]:
        """What came of each request."""
        self._seen = TrialRecord()
        rig = Rig(
            self._live,
            Memory(),
            self._seen,
            dict.fromkeys(KINDS, self._action),
            start_ms=self._now_ms,
            rng=random.Random(1),
            environ={"PATH": os.environ["PATH"], "HOME": str(self._home)},
            keys=self._keys,
        )
        try:
            return [self._answer(rig, request, case) for case, request in enumerate(requests)]
        finally:
            rig.close()

    def _answer(self, rig: Rig, request: HookRequest, case: int) -> HookAnswer:
        path = f"/hooks/{request.hook}".encode()
        endpoint = self._live.by_path.get(path)
        if endpoint is None:
            return HookAnswer(404, "", None)
        if request.method not in endpoint.methods:
            return HookAnswer(405, "", None)
        headers = [("host", "localhost"), ("content-length", str(len(request.body)))]
        headers += [(name.lower(), value) for name, value in request.sent_headers(case)]
        self._action.ran = False
        reply = rig.receive(
            InboundRequest(
                method=request.method,
                raw_path=path,
                query_string=request.query.encode(),
                headers=tuple((n.encode(), v.encode("latin-1")) for n, v in headers),
                body=request.body,
                peer="127.0.0.1",
                received_at=self._now_ms,
            )
        )
        run = NOTHING if self._action.ran else None
        for file in self._home.glob("ran.*"):
            _, run = read_run(file)
            file.unlink()
        return HookAnswer(reply.status, reply.body.decode(), run)


class _Running:
    """Runs commands, and waits for each."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self.ran = False

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """The command with its files."""
        assert isinstance(call, ShellCall)
        self.ran = True
        if self._home is None:
            return Done({})
        env = dict(call.env)
        for name, data in call.files:
            path = self._home / name
            path.write_bytes(data)
            env[name] = str(path)
        subprocess.run(  # noqa: ASYNC221 - virtual time stands still meanwhile
            call.argv, env=env, cwd=self._home, input=call.stdin, check=True
        )
        return Done({})
