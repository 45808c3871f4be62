"""What every action owes to dispatch, kind by kind."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from router.actions.dry import DryAction
from router.actions.http import HttpAction
from router.actions.log import LINE_MAX, LogAction
from router.actions.python import PythonAction
from router.actions.shell import ShellAction
from router.dispatch.protocol import Action
from router.egress import EgressPolicy
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.kinds.log import LogCall
from router.model.job import Done, FailOutcome, Job, RetryOutcome
from tests.plugin_rig import a_python_call
from tests.sim.makers import a_job, a_shell_call, an_http_call
from tests.sink import running_sink

CANARY = "s3cr3t-canary-9f2e"
WAITING = tuple(name for name in KINDS if not KINDS[name].local)
PLUGIN = """
def good(event, context): return 1
def bad(event, context): raise ValueError("bad")
def endless(event, context):
    while True: pass
def leaky(event, context): raise ValueError(context.secrets["key"])
"""


@dataclass
class Case:
    """An action and calls that make it do what a test is about."""

    action: Action
    good: ActionCall
    bad: ActionCall
    endless: Callable[[float], ActionCall]
    leaky: ActionCall
    lines: list[str]


@pytest.fixture
async def cases(tmp_path: Path) -> AsyncIterator[dict[str, Case]]:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "tried.py").write_text(PLUGIN)
    async with running_sink() as sink:
        lines: list[str] = []
        log = LogAction(lambda level, message, job: lines.append(message))
        made = {
            "http": Case(
                HttpAction(EgressPolicy()),
                an_http_call(f"{sink.url}/status/200"),
                an_http_call(f"{sink.url}/status/500"),
                lambda limit: an_http_call(f"{sink.url}/hang", timeout_s=limit),
                an_http_call(
                    f"{sink.url}/echo?key={CANARY}",
                    shown_url=f"{sink.url}/echo?key=***",
                    headers=(("Authorization", f"Bearer {CANARY}"),),
                ),
                lines,
            ),
            "shell": Case(
                ShellAction(term_s=0.05),
                a_shell_call("true"),
                a_shell_call("false"),
                lambda limit: a_shell_call("sleep", "60", timeout_s=limit),
                a_shell_call(
                    "sh",
                    "-c",
                    'echo "$KEY"; exit 1',
                    env={"PATH": "/usr/bin:/bin", "KEY": CANARY},
                    secret_names=frozenset({"KEY"}),
                ),
                lines,
            ),
            "python": Case(
                PythonAction(),
                a_python_call(tmp_path, "tried:good"),
                a_python_call(tmp_path, "tried:bad"),
                lambda limit: a_python_call(tmp_path, "tried:endless", timeout_s=limit),
                a_python_call(tmp_path, "tried:leaky", secrets={"key": CANARY}),
                lines,
            ),
            "log": Case(
                log, LogCall("hi"), a_shell_call("true"), lambda _: LogCall(""), LogCall(""), lines
            ),
        }
        yield made
        for case in made.values():
            await case.action.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_success(cases: dict[str, Case], kind: str) -> None:
    case = cases[kind]
    assert isinstance(await case.action.run(case.good, a_job(kind=kind)), Done)


@pytest.mark.parametrize("kind", KINDS)
async def test_failure_is_an_outcome_never_an_exception(cases: dict[str, Case], kind: str) -> None:
    case = cases[kind]
    outcome = await case.action.run(case.bad, a_job(kind=kind))
    assert isinstance(outcome, RetryOutcome | FailOutcome)
    assert outcome.reason


@pytest.mark.parametrize("kind", WAITING)
async def test_the_time_limit(cases: dict[str, Case], kind: str) -> None:
    case = cases[kind]
    async with asyncio.timeout(30):
        outcome = await case.action.run(case.endless(0.1), a_job(kind=kind))
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "timeout"


@pytest.mark.parametrize("kind", WAITING)
async def test_cancelling_leaves_as_a_cancellation(cases: dict[str, Case], kind: str) -> None:
    case = cases[kind]
    task = asyncio.create_task(case.action.run(case.endless(60), a_job(kind=kind)))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("kind", WAITING)
async def test_no_secret_in_outcomes(cases: dict[str, Case], kind: str) -> None:
    case = cases[kind]
    assert CANARY not in repr(await case.action.run(case.leaky, a_job(kind=kind)))
    assert CANARY not in repr(case.leaky)


@pytest.mark.parametrize("kind", WAITING)
async def test_a_dry_action_of_any_kind_touches_nothing(cases: dict[str, Case], kind: str) -> None:
    outcome = await DryAction().run(cases[kind].leaky, a_job(kind=kind))
    assert isinstance(outcome, Done)
    assert outcome.result["kind"] == a_job(kind=kind).kind
    assert CANARY not in repr(outcome)


async def test_a_log_line_is_written_and_cut(cases: dict[str, Case]) -> None:
    case = cases["log"]
    outcome = await case.action.run(LogCall("x" * 20_000), a_job(kind="log"))
    assert case.lines == ["x" * LINE_MAX + "…"]
    assert outcome.result == {"message": case.lines[0]}


def test_which_actions_are_prompt() -> None:
    def write(level: str, message: str, job: Job) -> None:
        """Nowhere."""

    assert hasattr(LogAction(write), "run_now")
    assert hasattr(DryAction(), "run_now")
    assert not hasattr(ShellAction(), "run_now")
    assert not hasattr(PythonAction(), "run_now")
