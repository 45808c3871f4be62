"""A kind of action is three files and three rows: `pigeon`, added to a copy of the router."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess

PURE = """
from typing import Any, ClassVar

import msgspec

from router.expressions import Template
from router.kinds.kind import CallField, Kind, Rendering, ReplyKey, ResultFields, by_job
from router.model.job import Done, FailOutcome, Outcome
from router.model.retry import SHORT
from router.model.settings import TargetLimits
from router.model.trial import SimulatedAnswer


class PigeonSpec(msgspec.Struct, frozen=True):
    note: Template
    loft: Template | None


class PigeonCall(msgspec.Struct, frozen=True):
    kind: ClassVar[str] = "pigeon"
    note: str
    loft: str
    timeout_s: float = 5.0

    def described(self) -> dict[str, Any]:
        return {"kind": self.kind, "note": self.note}


def render(spec: PigeonSpec, given: Rendering) -> PigeonCall:
    loft = "home" if spec.loft is None else spec.loft.render(given.scope, place="pigeon.loft")
    return PigeonCall(spec.note.render(given.scope, place="pigeon.note"), loft)


def outcome(call: PigeonCall, answer: SimulatedAnswer) -> Outcome:
    if answer.reply == "eaten":
        return FailOutcome("a hawk")
    return Done({"feathers": len(call.note)})


PIGEON = Kind(
    name="pigeon",
    number=99,
    title="a pigeon",
    spec=PigeonSpec,
    call=PigeonCall,
    prepare=by_job(render),
    form=lambda _spec, _field: "text",
    url_secrets=lambda _spec: (),
    calls={"note": CallField("What it carries.", lambda call: call.note)},
    reply=ReplyKey("flight", "How it went.", ("landed", "eaten"), "", None, ()),
    outcome=outcome,
    result=ResultFields(types={"feathers": "number"}, code="feathers", shown="{} f", output=()),
    retry=SHORT,
    slots=2,
    limits=TargetLimits(2, breaker=False),
    faults=None,
    local=False,
    real=False,
    whole_event=False,
)
"""
CONFIG = """
from typing import ClassVar

from router.config.kinds.base import Compile, CompileContext, Compiled, Schema, Surroundings
from router.config.language import ExpressionSite
from router.kinds.pigeon import PigeonSpec
from router.yaml_source import Entry, SourceText


class PigeonEntry(Entry):
    called: ClassVar[str] = "'pigeon'"
    required: ClassVar[tuple[str, ...]] = ("note",)
    note: SourceText | None = None
    loft: SourceText | None = None


def _compiler(file: CompileContext) -> Compile:
    def compiled(entry: PigeonEntry, around: Surroundings) -> Compiled:
        site = ExpressionSite("a note", around.roots)
        return PigeonSpec(file.template(entry.note, site), file.template(entry.loft, site)), None

    return compiled


PIGEON = Schema(
    kind="pigeon", entry=PigeonEntry, about="Send a note.", compiler=_compiler, look=None
)
"""
ACTION = """
from router.kinds.kind import ActionCall
from router.kinds.pigeon import PigeonCall
from router.model.job import Done, FailOutcome, Job, Outcome


class PigeonAction:
    async def run(self, call: ActionCall, job: Job) -> Outcome:
        if not isinstance(call, PigeonCall):
            return FailOutcome("not a pigeon call")
        return Done({"feathers": len(call.note), "by": call.loft})

    async def close(self) -> None: ...
"""
RULES = """
endpoints:
  loft: {paths: /loft, provider: none, verify: none}
rules:
  - id: r
    from: loft
    actions:
      - pigeon: {note: "coo {{ payload.n }}"}
      - {id: said, after: pigeon, log: "it had {{ results.pigeon.feathers }} feathers"}
tests:
  - name: a pigeon flies
    send: {endpoint: loft, event: unknown, payload: {n: 7}}
    expect: {matched: [r], calls: {r/pigeon: {times: 1, note: coo 7}, r/said: {message: it had 5 feathers}}}
  - name: a pigeon is eaten
    send: {endpoint: loft, event: unknown, payload: {n: 7}}
    replies: {r/pigeon: [{flight: eaten}]}
    expect: {dead: [r/pigeon], cancelled: [r/said]}
"""  # noqa: E501 - as somebody writes it
WRONG = (
    RULES.replace("note: coo 7", "argv: [coo]")
    .replace("flight: eaten", "status: 500")
    .replace("results.pigeon.feathers", "results.pigeon.fethers")
)


def add(file: Path, old: str, new: str) -> None:
    """One line's change in a table."""
    text = file.read_text("utf-8")
    assert text.count(old) == 1, f"{file}: {old}"
    file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A copy of the router with three more files, and a row more in three tables."""
    router = tmp_path / "code" / "router"
    shutil.copytree(ROOT / "router", router, ignore=shutil.ignore_patterns("__pycache__"))
    for package, text in (("kinds", PURE), ("config/kinds", CONFIG), ("actions", ACTION)):
        (router / package / "pigeon.py").write_text(text, "utf-8")
    table = router / "kinds" / "__init__.py"
    add(table, "import LOG\n", "import LOG\nfrom router.kinds.pigeon import PIGEON\n")
    add(table, "in (HTTP, ", "in (PIGEON, HTTP, ")
    table = router / "config" / "kinds" / "__init__.py"
    add(table, "import LOG\n", "import LOG\nfrom router.config.kinds.pigeon import PIGEON\n")
    add(table, '    "log": LOG,\n', '    "log": LOG,\n    "pigeon": PIGEON,\n')
    table = router / "actions" / "__init__.py"
    imported = "from router.actions.pigeon import PigeonAction\n"
    add(table, "import LogAction\n", f"import LogAction\n{imported}")
    add(
        table,
        "LogAction(r.write),\n",
        "LogAction(r.write),\n    'pigeon': lambda _: PigeonAction(),\n",
    )
    return router.parent


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "folder", RULES)


def run(code: Path, rig: Rig, *arguments: str, status: int = 0) -> str:
    """A command of the copy, and what it says."""
    plain = {n: os.environ[n] for n in ("PATH", "HOME", "LANG") if n in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "router", *arguments],
        cwd=code,
        env={**plain, "ROUTER_RULES": str(rig.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_a_rules_file_is_checked_described_and_tested(code: Path, rig: Rig) -> None:
    run(code, rig, "check")
    schema = json.loads(run(code, rig, "schema"))
    action = schema["definitions"]["Action"]["properties"]["pigeon"]
    assert action["description"] == "Send a note."
    assert schema["definitions"]["Call"]["properties"]["note"]["description"] == "What it carries."
    assert "2 passed" in run(code, rig, "test")
    rig.write(RULES.replace("times: 1, note: coo 7", "times: 2, note: coo 8"))
    said = run(code, rig, "test", status=1)
    assert "times: expected 2, got 1" in said
    assert 'note: expected "coo 8", got "coo 7"' in said


@pytest.mark.long
def test_a_wrong_file_is_answered_in_its_terms(code: Path, rig: Rig) -> None:
    rig.write(WRONG)
    said = run(code, rig, "check", status=1)
    assert "'r/pigeon' is a pigeon action: its calls have no 'argv'" in said
    assert "they have note" in said
    assert "'status' is no answer to a pigeon action" in said
    assert "did you mean 'feathers'?" in said


@pytest.mark.long
def test_a_delivery_is_routed_run_settled_and_shown(code: Path, rig: Rig) -> None:
    options = ("--dev", "--store", str(rig.store))  # pages ask for no log-in
    router = RouterProcess(rig.path, rig.listen, rig.admin, {}, options, code=code)
    with router:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{router.url}/loft", b'{"n": 41}', headers)  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            delivery = json.load(answer)["delivery"]

        def ended() -> bool:
            found = ledger.counts(rig.store)
            return (found.jobs, found.succeeded) == (2, 2)

        router.until(ended, "both jobs to succeed")
        router.says("it had 6 feathers")
        with urllib.request.urlopen(f"{router.admin_url}/deliveries/{delivery}") as page:  # noqa: S310
            text = page.read().decode()
        assert "feathers" in text
        assert "r/pigeon" in text
        targets = json.loads(run(code, rig, "targets", "--json"))
        assert ("r/pigeon", "pigeon") in {(row["name"], row["kind"]) for row in targets}
    shown = run(code, rig, "show", delivery)
    assert "r/pigeon (pigeon)  succeeded" in shown
    assert "feathers" in shown
