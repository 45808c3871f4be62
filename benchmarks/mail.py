"""
Many events in one delivery: batches of 1 to 1,000, and a million keys and everybody else meanwhile.

Every event is wanted by one of 20 rules, so a batch of 1,000 commits 1,000 keys and 1,000 jobs.
"""

import json
import socket
import subprocess
import time
from statistics import median

import msgspec

from benchmarks import pushes
from benchmarks.bench import Bench, WrongFigures, agree, child, generator
from benchmarks.cost import used
from benchmarks.figures import Cost, Row, at_most
from benchmarks.pace import connect, read_answer
from router.providers import builtin
from tests.acceptance.process import ROOT
from tests.acceptance.senders import ENDPOINTS, MAIL_ID, environ, mail_keys

EVENTS = 1_000
PAUSE_S = 0.25
OTHERS_RATE = 200
PATH = f"/wh_{MAIL_ID}"
BATCHES = {1: 1_500, 10: 250, 100: 40, 1_000: 5}
"""How many batches of each size are sent for each second asked for: about what is taken in one."""
SENDERS = 4


def rules() -> str:
    """20 rules for mail, of which one wants every `delivered`; one for pushes."""
    text = ENDPOINTS + "rules:\n"
    for number in range(19):
        text += (
            f"  - id: mail-{number}\n    from: mail\n    events: delivered\n"
            f"    match: contains(payload.category, 'other-{number}')\n"
            f"    actions: {{log: 'category {number}'}}\n"
        )
    return text + (
        "  - id: delivered\n    from: mail\n    events: delivered\n"
        "    match: payload.email != 'nobody@example.com'\n"
        "    actions: {log: 'delivered to {{ payload.email }}'}\n"
        "  - id: main\n    from: code\n    events: push\n"
        "    match: payload.ref == 'refs/heads/main'\n"
        "    actions: {log: 'push to {{ payload.repository.full_name }}'}\n"
    )


def request(port: int, number: int, events: int = EVENTS) -> bytes:
    """Batch `number`, signed now: so many new events as the sender spells them."""
    email = builtin()["email"]
    ids = [f"b{number:08d}-{n:04d}-{n * 2654435761 % 2**32:08x}" for n in range(events)]
    content = email.compose(email.sample("delivered"), *ids)
    headers = email.sign(
        event="delivered",
        body=content,
        key=mail_keys()[1],
        delivery_id="",
        now_ms=int(time.time() * 1000),
    )
    return pushes.http(port, PATH, headers, content)


def batch(bench: Bench) -> list[Row]:
    """Batches one after another with short pauses, while pushes arrive at 200 a second."""
    rig = bench.rig("batch", rules(), environ=environ())
    bench.seed("keys", rig, "mail")
    push = pushes.write_request(rig.listen, rig.folder / "push.http")
    count = max(5, min(40, bench.seconds * 3))
    batches = [request(rig.listen, n) for n in range(count)]
    others = round(OTHERS_RATE * PAUSE_S * (count + 2) * 1.2)
    command = generator("benchmarks.pace", rig.listen, push, OTHERS_RATE, others, bench.number())
    with rig.router() as router:
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as pace:
            taken = deliver(rig.listen, batches)
            told, _ = pace.communicate(timeout=120)
        found = json.loads(told)
        if found["not_200"] or found["answers"] != others:
            raise WrongFigures(f"beside the batches: {found}")
        extra = count * (EVENTS - 1)
        bench.notes.append(agree(rig, router, count + others, extra_jobs=extra))
    return [
        Row("batch of 1,000, 1,000,000 keys", median(taken), "ms"),
        Row("batch of 1,000, the slowest", max(taken), "ms"),
        at_most("others' acks meanwhile, p99", found["p99_ms"], "ms", 30),
    ]


def batches(bench: Bench) -> list[Row]:
    """Batches of 1, 10, 100 and 1,000 events, as fast as answers come, a router for each."""
    rates, rows = {}, []
    for events, each in BATCHES.items():
        found, cost = of_size(bench, events, each * bench.seconds)
        rates[events] = found["answers"] * events / found["seconds"]
        label = f"email batches of {events:,}"
        rows += [
            Row(f"{label}, events", round(rates[events]), "events/s", cost=cost),
            Row(f"{label}, p50", found["p50_ms"], "ms"),
            Row(f"{label}, p99", found["p99_ms"], "ms"),
        ]
    return [*rows, Row("ratio, events in 1,000s to one by one", rates[1_000] / rates[1], "x")]


def of_size(bench: Bench, events: int, count: int) -> tuple[dict[str, float], Cost]:
    """What the generator saw of `count` batches, once the ledger agrees; what an event cost."""
    rig = bench.rig(f"batches-{events}", rules(), environ=environ())
    place = rig.folder / "batches.msgpack"
    made = [request(rig.listen, n, events) for n in range(count)]
    place.write_bytes(msgspec.msgpack.encode(made))
    with rig.router() as router:
        before = used(router)
        found = child("benchmarks.posts", rig.listen, place, SENDERS)
        if found["answers"] != count:
            raise WrongFigures(f"{count} batches of {events}: {found}")
        bench.notes.append(agree(rig, router, count, extra_jobs=count * (events - 1)))
        cost = used(router).since(before).each(count * events)
    return found, cost


def deliver(port: int, batches: list[bytes]) -> list[float]:
    """Milliseconds from before each one's first byte to its whole answer."""
    taken = []
    for content in batches:
        time.sleep(PAUSE_S)
        link = connect(port)
        taken.append(once(link, content) * 1000)
        link.close()
    return taken


def once(link: socket.socket, content: bytes) -> float:
    began = time.perf_counter()
    link.sendall(content)
    answer = read_answer(link)
    taken = time.perf_counter() - began
    if not answer.startswith(b"HTTP/1.1 200") or b"accepted" not in answer:
        raise WrongFigures(f"a batch was answered {answer[:200]!r}")
    return taken
