"""Operators' conditions at a served router: they stop nobody, and end."""

import hmac
import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from html import unescape
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.acceptance.process import PATIENCE_S, Rig, RouterProcess
from tests.postgres.server import Server

pytestmark = pytest.mark.long

KEY = "0123456789abcdef0123"
RULES = """
secrets: {s: {env: CONDITION_KEY}}
endpoints: {keep: {paths: /keep, provider: hmac, secrets: s, body_max: 25MiB}}
rules: [{id: kept, from: keep, actions: {log: hi}}]
"""
HEAVY = "length(map(&length($.payload.l[?a=='x']), payload.l)) == 1"
"""It looks at each element once for each."""
HUGE = "length(map(&join('', [@.a, $.payload.fill]), payload.l[:450])) == 450"
"""Texts of 400 MB in all."""
QUICK = "payload.id == 3"
JSON = "application/json"


class Answer(NamedTuple):
    """What came back."""

    status: int
    text: str
    cookie: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def asked(port: int, method: str, path: str, body: bytes | None = None, **head: str) -> Answer:
    """One request on a connection of its own."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as link:
        link.request(method, path, body, {n.replace("_", "-"): v for n, v in head.items()})
        got = link.getresponse()
        return Answer(got.status, got.read().decode(), got.headers["set-cookie"] or "")


class Asker:
    """Somebody with a token."""

    def __init__(self, router: RouterProcess, token: str) -> None:
        self._port, self.token = router.admin, token

    def get(self, path: str, **query: str) -> Answer:
        bearer = f"Bearer {self.token}"
        return asked(self._port, "GET", f"{path}?{urlencode(query)}", authorization=bearer)

    def list(self, where: str, name: str = "deliveries", **query: str) -> Answer:
        return self.get(f"/api/{name}", where=where, **query)

    def post(self, verb: str, **body: object) -> Answer:
        head = {"authorization": f"Bearer {self.token}", "content_type": JSON}
        return asked(self._port, "POST", f"/api/{verb}", json.dumps(body).encode(), **head)


def send(router: RouterProcess, **payload: object) -> int:
    """The status with which a delivery is answered."""
    body = json.dumps(payload).encode()
    proof = "sha256=" + hmac.new(KEY.encode(), body, "sha256").hexdigest()
    head = {"x_hub_signature_256": proof, "content_type": JSON}
    return asked(router.listen, "POST", "/keep", body, **head).status


def children(router: RouterProcess) -> list[int]:
    """The processes of this router that evaluate conditions."""
    assert router.process is not None
    found = []
    for place in Path("/proc").iterdir():
        try:
            said = (place / "stat").read_text() if place.name.isdigit() else ""
            ours = said and int(said.rpartition(")")[2].split()[1]) == router.process.pid
            if ours and b"condition_child" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "router", RULES, {"CONDITION_KEY": KEY})


@pytest.fixture
def router(rig: Rig) -> Iterator[RouterProcess]:
    """With some small deliveries, and one with a long list."""
    with rig.router() as router:
        assert {send(router, id=n) for n in range(5)} == {200}
        long = [{"a": str(n)} for n in range(20_000)]
        assert send(router, id="long", l=long, fill="x" * 900_000) == 200
        yield router


@pytest.fixture
def askers(rig: Rig, router: RouterProcess) -> list[Asker]:
    own = Asker(router, (rig.folder / "router.db.token").read_text().strip())
    made = [own.post("tokens", name=f"v{n}", role="viewer").json["token"] for n in range(3)]
    return [own, *(Asker(router, token) for token in made)]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def meanwhile(heavy: list[Future[Answer]], do: Callable[[], bool]) -> int:
    """How often it is done while every one of these goes on."""
    done = 0
    while not any(one.done() for one in heavy):
        assert do()
        done += not any(one.done() for one in heavy)
    return done


def test_what_takes_long_is_ended_and_delays_no_delivery(
    router: RouterProcess, askers: list[Asker], threads: ThreadPoolExecutor
) -> None:
    own, *viewers = askers
    assert len(own.list(QUICK).json["deliveries"]) == 1
    assert send(router, id="newest") == 200
    heavy = [threads.submit(viewer.list, HEAVY) for viewer in viewers]

    def others() -> bool:
        livez = asked(router.admin, "GET", "/livez").status
        listed = own.get("/api/deliveries", limit="1").status
        return {send(router, id="new"), livez, listed} == {200}

    assert meanwhile(heavy, others) >= 2
    for one in heavy:
        answer = one.result()
        assert answer.status == 422, answer.text
        assert answer.json["error"] == "condition_ended"
        assert "ended after 2 s: deliveries looked at: " in answer.json["detail"]
        assert ", back to 20" in answer.json["detail"], "the newest was looked at"
    assert len(own.list(QUICK).json["deliveries"]) == 1
    assert len(children(router)) <= 2
    for verb in ("replay", "cancel", "erase"):
        answer = own.post(verb, selector={"where": HEAVY}, dry_run=True)
        assert answer.json["error"] == "condition_ended", verb


def test_nobody_holds_both_processes(
    router: RouterProcess, askers: list[Asker], threads: ThreadPoolExecutor
) -> None:
    own, one, _, _ = askers
    [small] = own.list(QUICK).json["deliveries"]
    heavy = [threads.submit(one.list, HEAVY) for _ in range(2)]
    others = partial(own.get, "/api/deliveries", where=QUICK, id=small["id"])
    assert meanwhile(heavy, lambda: others().status == 200) >= 2
    assert {answer.result().status for answer in heavy} == {422}


def test_what_takes_memory_is_ended(router: RouterProcess, askers: list[Asker]) -> None:
    answer = askers[1].list(HUGE)
    assert answer.status == 422, answer.text
    assert "ended when it needed more than 256 MiB" in answer.json["detail"]
    assert len(askers[1].list(QUICK).json["deliveries"]) == 1


def test_a_process_has_nothing_of_the_router_and_goes_with_it(
    router: RouterProcess, askers: list[Asker], threads: ThreadPoolExecutor
) -> None:
    assert askers[0].list(QUICK).status == 200
    [child] = children(router)
    place = Path(f"/proc/{child}")
    assert KEY.encode() not in (place / "environ").read_bytes()
    opened = [str(one.readlink()) for one in (place / "fd").iterdir()]
    assert not [name for name in opened if "router.db.lock" in name]
    assert sum(name.startswith("socket:") for name in opened) <= 3, opened
    heavy = threads.submit(askers[1].list, HEAVY)
    began = _cpu(child)
    router.until(lambda: _cpu(child) > began + 20, "an evaluation")
    router.signal(signal.SIGKILL)
    assert router.ended(within=PATIENCE_S) is not None
    with pytest.raises((OSError, HTTPException)):
        heavy.result()
    while _lives(place):  # the test's own time limit bounds it
        threads.submit(int).result()


def _lives(place: Path) -> bool:
    try:
        return (place / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _most_memory(router: RouterProcess) -> int:
    """KiB that the router has had at once."""
    assert router.process is not None
    status = Path(f"/proc/{router.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def _cpu(pid: int) -> int:
    """Ticks that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_one_that_was_killed_while_it_waited_is_asked_nothing(
    router: RouterProcess, askers: list[Asker]
) -> None:
    assert askers[0].list(QUICK).status == 200
    [child] = children(router)
    os.kill(child, signal.SIGKILL)
    router.until(lambda: not Path(f"/proc/{child}").exists(), "its end")
    answer = askers[0].list("payload.id < var.n", var=json.dumps({"n": 10**30}))
    assert answer.status == 200, answer.text
    assert len(answer.json["deliveries"]) == 5


def test_a_stop_ends_them(router: RouterProcess, askers: list[Asker]) -> None:
    assert askers[0].list(QUICK).status == 200
    [child] = children(router)
    assert router.stop() == 0
    assert not Path(f"/proc/{child}").exists()


def test_a_condition_is_tried_by_them_too(router: RouterProcess, askers: list[Asker]) -> None:
    [quick] = askers[0].list(QUICK).json["deliveries"]
    form = urlencode({"token": askers[0].token}).encode()
    origin = router.admin_url
    logged_in = asked(
        router.admin, "POST", "/login", form, origin=origin,
        content_type="application/x-www-form-urlencoded",
    )  # fmt: skip
    assert logged_in.status == 303

    def page(delivery: str, text: str) -> str:
        path = f"/deliveries/{delivery}/try?{urlencode({'text': text})}"
        cookie = logged_in.cookie.partition(";")[0]
        return unescape(asked(router.admin, "GET", path, cookie=cookie).text)

    assert "payload.id = 3 (number)" in page(quick["id"], QUICK)
    assert send(router, id="list", items=[{"n": 1.5}] * 100) == 200
    [listed] = askers[0].list("payload.id == 'list'").json["deliveries"]
    inner = "length($.payload.items)"
    for _ in range(6):
        inner = f"sum(map(&{inner}, $.payload.items))"
    assert "the condition was ended after 2 s" in page(listed["id"], f"{inner} > 0")
    one = "payload.items[0].n"
    assert f"{one} = 1.5 (number)" in page(listed["id"], f"{one} > 1")
    assert send(router, id="wide", fill="x" * 200_000 + "ü", many=list(range(100))) == 200
    [wide] = askers[0].list("payload.id == 'wide'").json["deliveries"]
    large = "map(&$.payload.fill, $.payload.many[:100])"
    assert "payload.id = " in page(wide["id"], "payload.id == 1")
    before = _most_memory(router)
    assert f'{large} = ["xxx' in page(wide["id"], f"{large} == 1")
    assert _most_memory(router) - before < 8 << 10, "the router takes no list of 20 MB"


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_every_verb_finds_by_a_condition(
    tmp_path: Path, store: str, postgres_server: Server, request: pytest.FixtureRequest
) -> None:
    known = {"CONDITION_KEY": KEY}
    if store == "postgres":
        name = request.getfixturevalue("new_database")
        known["ROUTER_STORE"] = postgres_server.address(name)
    rig = Rig(tmp_path / "router", RULES, known)
    with rig.router() as router:
        assert {send(router, id=n, who=f"w{n}") for n in range(12)} == {200}
        [token] = rig.folder.glob("*.token")
        own = Asker(router, token.read_text().strip())
        router.until(lambda: len(own.list("payload.id < 6", "jobs").json["jobs"]) == 6, "the jobs")
        assert len(own.list("payload.id < 6").json["deliveries"]) == 6
        exported, place = list[int](), {"where": "payload.who == 'w3'"}
        while page := own.get("/api/export", **place).json:
            exported += [d["events"][0]["payload"]["id"] for d in page["deliveries"]]
            if page["next"] is None:
                break
            place["cursor"] = page["next"]
        assert exported == [3]
        plan = own.post("replay", selector={"where": "payload.id < 3"}, dry_run=True).json
        assert (plan["deliveries"], plan["jobs"]) == (3, 3)
        made = own.post("replay", selector={"where": "payload.id < 3"}, rate=None).json
        router.until(lambda: _made(own, made["id"]) == 3, "the replay")
        limited = own.post("replay", selector={"where": "payload.id > 2", "limit": 2}).json
        router.until(lambda: _made(own, limited["id"]) == 2, "the replay")
        erased = own.post("erase", selector={"where": "payload.who == 'w3'"}).json
        router.until(
            lambda: own.get(f"/api/erasures/{erased['id']}").json["state"] == "done", "the end"
        )
        assert own.list("payload.id == 3").json["deliveries"] == []
        assert len(own.list("payload.id >= 0").json["deliveries"]) == 11


def test_a_store_that_does_not_answer_is_not_taken_for_a_long_condition(
    tmp_path: Path, postgres_server: Server, new_database: str, threads: ThreadPoolExecutor
) -> None:
    """A replay or an erasure that met a lock would stand still until the next start."""
    address = postgres_server.address(new_database)
    rig = Rig(tmp_path / "router", RULES, {"CONDITION_KEY": KEY, "ROUTER_STORE": address})
    lock = "BEGIN; LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(4)"
    held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"
    with rig.router() as router:
        assert send(router, id=3) == 200
        own = Asker(router, next(rig.folder.glob("*.token")).read_text().strip())
        assert len(own.list(QUICK).json["deliveries"]) == 1
        locked = threads.submit(postgres_server.execute, lock, database=new_database)
        router.until(
            lambda: "0" not in postgres_server.execute(held, database=new_database), "the lock"
        )
        answer = own.list(QUICK)
        assert answer.status == 503, answer.text
        assert "the store did not answer within 2 s" in answer.json["detail"]
        locked.result()
        assert len(own.list(QUICK).json["deliveries"]) == 1


def _made(own: Asker, replay: str) -> int:
    return int(own.get(f"/api/replays/{replay}").json["jobs"])
