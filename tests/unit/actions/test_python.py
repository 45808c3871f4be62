"""The python action with real child processes: results, environment, pool."""

import asyncio
import hashlib
import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from router.actions.child import KEEP
from router.actions.python import PythonAction
from router.errors import EgressRefused
from router.kinds.log import LogCall
from router.log import Redactor
from router.model.job import Done, FailOutcome, RetryOutcome
from tests.children import children
from tests.plugin_rig import a_python_call, running_rig
from tests.sim.makers import a_job
from tests.sink import running_sink
from tests.waiting import until

CANARY = "s3cr3t-canary-9f2e"
SOURCE = """
import os, stat, sys, threading, time
from router.plugin import Context, Event, Fail, PlainContext, Retry

def pid(event, context): return os.getpid()
def payload(event, context): return event.payload
def told(event, context): return [event.name, event.body.decode(), str(event.received_at)]
def environment(event, context): return dict(os.environ)
def folder(event, context): return os.getcwd()
def path(event, context): return sys.path
def busy(event, context): raise Retry(after=7, reason="busy")
def gone(event, context): raise Fail("gone")
def wrong(event, context): raise ValueError("wrong")
def prints(event, context): print("out"); print("err", file=sys.stderr); context.logger.info("log")
def floods(event, context): print("x" * 1_000_000); print("end")
def large(event, context): return "x" * 70_000
def same(event, context, **args): return args
def tells(event, context): print(context.secrets["key"]); return {"a": [context.secrets["key"]]}
def leaks(event, context): raise ValueError(context.secrets["key"])
def finds(event, context, *, known):
    print(known[:9], end="", flush=True); print(known[9:]); context.logger.info("log %s", known)
    return {known: [f"a {known}"]}
def blames(event, context, *, known): raise ValueError(f"{'x' * 270} {known}")
def retries(event, context, *, known): raise Retry(after=7, reason=known)
def fails(event, context, *, known): raise Fail(known)
def overflows(event, context, *, known): print(known * 2, "x" * (65536 - 11), sep="")
def blames_long(event, context, *, known): raise ValueError(known + "y" * (16384 - 10))
def litter(event, context):
    os.environ["LEFT"] = "1"; os.chdir("/")
def prints_later(event, context, *, go, done):
    def later():
        while not os.path.exists(go): time.sleep(0.001)
        print("late")
        open(done, "w").close()
    threading.Thread(target=later, daemon=True).start()
def is_socket(number):
    try: return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError: return False
def speaks_later(event, context, *, go, done):
    def later():
        while not os.path.exists(go): time.sleep(0.001)
        numbers = map(int, os.listdir("/dev/fd"))
        for number in filter(is_socket, numbers): os.write(number, b"\\0\\0\\0\\2{}")
        open(done, "w").close()
    threading.Thread(target=later, daemon=True).start()
    return os.getpid()
async def call(event, context: Context, *, url): return (await context.http.get(url)).status_code
async def meet(event, context, *, mine, other):
    open(mine, "w").close()
    while not os.path.exists(other):
        pass
    return os.getpid()
"""


async def test_a_result_and_what_is_recorded(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        outcome = await rig.run("same", args={"total": Decimal("1.50"), "big": 10**30})
    assert isinstance(outcome, Done)
    assert outcome.result == {
        "value": {"total": Decimal("1.50"), "big": 10**30},
        "stdout": "",
        "stderr": "",
        "module": hashlib.sha256(SOURCE.encode()).hexdigest(),
    }


async def test_the_event_and_its_bytes(tmp_path: Path) -> None:
    event = {"payload": None, "name": "push", "received_at": "2026-01-01T00:00:00.000Z"}
    async with running_rig(tmp_path, SOURCE) as rig:
        assert await rig.value("told", event=event, body=b"raw") == [
            "push",
            "raw",
            "2026-01-01 00:00:00+00:00",
        ]


async def test_a_large_body_and_payload(tmp_path: Path) -> None:
    event = {"payload": {"a": "x" * 3_000_000, "n": Decimal("0.10")}}
    async with running_rig(tmp_path, SOURCE) as rig:
        outcome = await rig.run("same", event=event, body=b"y" * 3_000_000)
        assert isinstance(outcome, Done)


async def test_steering(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        busy, gone, wrong = [await rig.run(name) for name in ("busy", "gone", "wrong")]
    assert isinstance(busy, RetryOutcome)
    assert (busy.failure, busy.reason, busy.after_s) == ("temporary", "busy", 7)
    assert isinstance(gone, FailOutcome)
    assert gone.reason == "gone"
    assert isinstance(wrong, RetryOutcome)
    assert (wrong.failure, wrong.reason) == ("error", "ValueError: wrong")
    assert wrong.result["traceback"].endswith("ValueError: wrong\n")


async def test_a_result_that_is_too_large_fails_the_attempt_and_says_so(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        outcome = await rig.run("large")
    assert isinstance(outcome, RetryOutcome)
    assert "70002 bytes of JSON, and 65536 may be kept" in outcome.reason


async def test_output_is_kept_apart_for_each_call(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        first, second = await rig.run("prints"), await rig.run("pid")
    assert first.result["stdout"] == "out\n"
    assert first.result["stderr"] == "err\nINFO tried: log\n"
    assert second.result["stdout"] == second.result["stderr"] == ""


async def test_what_an_earlier_call_left_to_print_is_not_the_next_ones(tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    async with running_rig(tmp_path, SOURCE) as rig:
        await rig.run("prints_later", args={"go": str(go), "done": str(done)})
        go.touch()
        await until(done.exists)
        assert (await rig.run("pid")).result["stdout"] == ""


async def test_the_tail_of_much_output_is_kept(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        result = (await rig.run("floods")).result
    assert len(result["stdout"]) == KEEP
    assert result["stdout"].endswith("xx\nend\n")
    assert result["truncated"] is True


async def test_only_the_given_environment_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSEEN", CANARY)
    async with running_rig(tmp_path, SOURCE) as rig:
        for number in ("1", "2"):
            await rig.run("litter")
            env = {"PATH": "/bin", "WEBHOOK_ATTEMPT": number}
            assert await rig.value("environment", env=env) == env
            assert await rig.value("folder") == str(tmp_path)


async def test_a_process_starts_with_the_given_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only what a plugin sees of it later: what the process itself was handed."""
    monkeypatch.setenv("UNSEEN", CANARY)
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    (tmp_path / "sitecustomize.py").write_text(
        "import json, os, sys\n"
        "json.dump([dict(os.environ), sys.flags.dev_mode], open('first.json', 'w'))\n"
    )
    env = {"PATH": "/bin", "PYTHONPATH": str(tmp_path)}
    async with running_rig(tmp_path, SOURCE) as rig:
        await rig.value("pid", env=env)
    given, dev_mode = json.loads((tmp_path / "first.json").read_text())
    given.pop("LC_CTYPE", None)  # the interpreter's own, where no locale is set
    assert (given, dev_mode) == (env, False)


async def test_the_plugins_folder_comes_last_and_the_working_folder_not_at_all(
    tmp_path: Path,
) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        path = await rig.value("path")
    assert path[-1] == str(tmp_path / "plugins")
    assert str(tmp_path) not in path
    assert "" not in path


async def test_secrets_are_masked_wherever_they_come_back(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        reported, leaked = [await rig.run(n, secrets={"key": CANARY}) for n in ("tells", "leaks")]
    assert reported.result["value"] == {"a": ["***"]}
    assert reported.result["stdout"] == "***\n"
    assert CANARY not in repr(leaked)


async def test_no_secret_that_a_plugin_found_comes_into_the_record(tmp_path: Path) -> None:
    """Whether printed, logged, returned, raised, or cut in two."""
    redactor = Redactor(8, encoded=True)
    redactor.register([CANARY])
    args = {"known": CANARY}
    async with running_rig(tmp_path, SOURCE, redactor=redactor) as rig:
        names = ("finds", "blames", "retries", "fails", "overflows", "blames_long")
        found = {name: await rig.run(name, args=args) for name in names}
    result = found["finds"].result
    assert result["value"] == {"***": ["a ***"]}
    assert (result["stdout"], result["stderr"]) == ("***\n", "INFO tried: log ***\n")
    assert [found[name].reason for name in ("retries", "fails")] == ["***", "***"]
    assert found["overflows"].result["stdout"] == "***" + "x" * (65536 - 11) + "\n"
    for outcome in found.values():
        assert not [part for part in parts(CANARY) if part in str(outcome)], outcome


def parts(secret: str) -> list[str]:
    """Every five letters of it that stand together."""
    return [secret[at : at + 5] for at in range(len(secret) - 4)]


async def test_the_client_asks_the_egress_rules_of_now(tmp_path: Path) -> None:
    allowed: tuple[str, ...] = ()
    async with running_sink() as sink, running_rig(tmp_path, SOURCE, egress=lambda: allowed) as rig:
        url = sink.url + "/status/200"
        refused = await rig.run("call", args={"url": url})
        assert isinstance(refused, FailOutcome)
        assert "egress" in refused.reason
        assert await rig.value("call", args={"url": url}, hosts=("127.0.0.1",)) == 200
        allowed = ("127.0.0.0/8",)
        assert await rig.value("call", args={"url": url}) == 200
    assert EgressRefused.__name__ not in repr(refused)


# -- the pool -------------------------------------------------------------------------------------


async def test_one_child_serves_one_call_after_another(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        assert len({await rig.value("pid") for _ in range(5)}) == 1


async def test_it_grows_by_need(tmp_path: Path) -> None:
    one, two = str(tmp_path / "1"), str(tmp_path / "2")
    async with running_rig(tmp_path, SOURCE) as rig:
        pids = await asyncio.gather(
            rig.value("meet", args={"mine": one, "other": two}),
            rig.value("meet", args={"mine": two, "other": one}),
        )
        assert len(set(pids)) == 2
        assert await rig.value("pid") in pids


async def test_it_shrinks_to_one_again(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE, idle_s=0.0) as rig:
        pids = await asyncio.gather(*(rig.value("pid") for _ in range(3)))
        left = await rig.value("pid")
        for pid in set(pids) - {left}:
            await _gone(pid)
        assert await rig.value("pid") == left


async def test_an_idle_child_that_somebody_killed_costs_nothing(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        pid = await rig.value("pid")
        os.kill(pid, 9)
        await _gone(pid)
        assert isinstance(await rig.run("pid"), Done)


async def test_each_call_of_a_child_names_the_module_that_ran(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        found = [(await rig.run(name)).result for name in ("pid", "pid", "wrong", "wrong")]
    assert {result["module"] for result in found} == {hashlib.sha256(SOURCE.encode()).hexdigest()}


async def test_a_child_that_speaks_unasked_costs_nobody_an_attempt(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        go, done = tmp_path / "go", tmp_path / "done"
        first = await rig.value("speaks_later", args={"go": str(go), "done": str(done)})
        go.touch()
        await until(done.exists)
        for _ in range(3):  # what lies in the socket is read
            await asyncio.sleep(0)
        assert await rig.value("pid") != first


async def test_a_call_that_cannot_be_said_to_a_process_ends_it(tmp_path: Path) -> None:
    action = PythonAction()
    call = a_python_call(tmp_path, "handlers:pid", args={"x": "\ud800"})
    with pytest.raises(UnicodeEncodeError):
        await action.run(call, a_job())
    await until(lambda: not action._children)
    await action.close()


async def test_a_child_is_used_so_often_and_no_more(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE, jobs_max=2) as rig:
        pids = [await rig.value("pid") for _ in range(4)]
    assert pids[0] == pids[1]
    assert pids[2] == pids[3]
    assert pids[1] != pids[2]


async def test_a_grown_child_is_not_used_again(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE, rss_max=1) as rig:
        assert await rig.value("pid") != await rig.value("pid")


async def test_a_reload_brings_the_new_code(tmp_path: Path) -> None:
    version = 1
    async with running_rig(tmp_path, "def f(e, c): return 1", version=lambda: version) as rig:
        first = await rig.run("f")
        rig.write("def f(e, c): return 2")
        assert await rig.value("f") == 1
        version = 2
        second = await rig.run("f")
    assert (first.result["value"], second.result["value"]) == (1, 2)
    assert first.result["module"] != second.result["module"]


async def test_a_call_that_runs_during_a_reload_ends_with_the_old_code(tmp_path: Path) -> None:
    version, here, go = 1, tmp_path / "here", tmp_path / "go"
    async with running_rig(tmp_path, SOURCE, version=lambda: version) as rig:
        meeting = asyncio.create_task(rig.value("meet", args={"mine": str(here), "other": str(go)}))
        await until(here.exists)
        version = 2
        rig.write("def pid(e, c): return 'new'")
        assert await rig.value("pid") == "new"
        go.touch()
        pid = await meeting
        assert isinstance(pid, int)
        await _gone(pid)


async def test_another_folder_has_children_of_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "plugins").mkdir(parents=True)
    (other / "plugins" / "tried.py").write_text("def pid(e, c): return 'other'")
    async with running_rig(tmp_path, SOURCE) as rig:
        assert await rig.value("pid") != "other"
        assert await rig.value("pid", cwd=str(other)) == "other"


async def test_closing_ends_every_child(tmp_path: Path) -> None:
    before = children()
    async with running_rig(tmp_path, SOURCE) as rig:
        pids = await asyncio.gather(*(rig.value("pid") for _ in range(3)))
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert children() <= before


@pytest.mark.long
async def test_no_descriptor_is_left(tmp_path: Path) -> None:
    async with running_rig(tmp_path, SOURCE) as rig:
        await rig.run("pid")
    before = _open_descriptors()
    async with running_rig(tmp_path, SOURCE, jobs_max=1) as rig:
        for _ in range(5):
            await rig.run("pid")
    await until(lambda: _open_descriptors() <= before)


async def test_what_cannot_start(tmp_path: Path) -> None:
    action = PythonAction()
    outcome = await action.run(a_python_call(tmp_path / "none", "a:b"), a_job(kind="python"))
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "error"
    await action.close()


async def test_another_kind_of_call_is_dead() -> None:
    assert isinstance(await PythonAction().run(LogCall("x"), a_job()), FailOutcome)


async def _gone(pid: int) -> None:
    await until(lambda: not _lives(pid))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
