"""One suite for functions that prove requests, in real processes: what is right, and all else."""

import asyncio
import hmac
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.actions.proofs import AT_ONCE, FunctionProofs
from router.actions.python import PythonAction
from router.model.delivery import LiveSecret
from router.providers.waiting import FunctionProof
from tests.children import children
from tests.waiting import until

BODY = b'{"n": 1}\xff\0'
KEY, CANARY = b"first-of-two-keys", b"s3cr3t-canary-9f2e"
PLUGIN = """
import hmac, os, sys
from pathlib import Path

def verify(body, headers, secrets):
    right = [hmac.new(s.encode(), body, "sha256").hexdigest() for s in secrets]
    return any([hmac.compare_digest(one, headers["x-check"]) for one in right])
def raises(body, headers, secrets): raise ValueError(secrets[-1])
def leaves(body, headers, secrets): sys.exit()
def hangs(body, headers, secrets):
    with Path("begun").open("a") as begun: print(os.getpid(), file=begun)
    while True: pass
def dies(body, headers, secrets): os._exit(9)
def one(body, headers, secrets): return 1
def text(body, headers, secrets): return "True"
def shown(body, headers, secrets): return {"True": secrets}
def nothing(body, headers, secrets): pass
def odd(body, headers, secrets): return object()
async def later(body, headers, secrets): return True
def environment(body, headers, secrets): return sorted(os.environ) == ["PATH"]
def given(body, headers, secrets): return (type(body), headers, secrets) == (
    bytes, {"x-check": "a, b", "authorization": "Bearer t"}, ["first-of-two-keys"])
def closes(body, headers, secrets): os.closerange(3, 64)
"""


Keys = tuple[bytes, ...]


class World:
    """Functions of one folder, asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "plugins").mkdir()
        (folder / "plugins" / "tried.py").write_text(PLUGIN)
        (folder / "plugins" / "broken.py").write_text("1 / 0")
        self.proofs = FunctionProofs(PythonAction(), {"PATH": os.environ["PATH"], "SEEN": "no"})

    async def ask(
        self,
        function: str,
        body: bytes = BODY,
        check: bytes = b"",
        keys: Keys = (KEY,),
    ) -> bool | str:
        secrets = tuple(LiveSecret(f"k{n}", key) for n, key in enumerate(keys))
        name = function if ":" in function else f"tried:{function}"
        wanted = FunctionProof(name, body, ((b"x-check", check),), secrets)
        return await self.proofs.ask(wanted, str(self.folder))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made, before = World(tmp_path), children()
    yield made
    await made.proofs.close()
    assert not children() - before


def signed(body: bytes = BODY, key: bytes = KEY) -> bytes:
    return hmac.digest(key, body, "sha256").hex().encode()


async def test_right_altered_and_by_another_key(world: World) -> None:
    assert await world.ask("verify", check=signed()) is True
    assert await world.ask("verify", body=BODY + b" ", check=signed()) is False
    assert await world.ask("verify", check=signed(key=b"another")) is False
    assert await world.ask("verify", check=signed()[:-1]) is False
    assert await world.ask("verify", check=b"\xff") != True  # noqa: E712 - a text is true as well
    both = (b"second", KEY)
    assert await world.ask("verify", check=signed(), keys=both) is True
    assert await world.ask("verify", check=signed(key=b"second"), keys=both) is True
    large = b"x" * 3_000_000
    assert await world.ask("verify", body=large, check=signed(large)) is True


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("raises", "ValueError: ***"),
        ("leaves", "SystemExit"),
        ("hangs", "stopped after 0.25 s"),
        ("dies", "the plugin ended its process: exit 9"),
        ("closes", "ended its process"),
        ("one", "neither True nor False"),
        ("text", "neither True nor False"),
        ("shown", "neither True nor False"),
        ("nothing", "neither True nor False"),
        ("odd", "not a JSON value"),
        ("later", "not a JSON value"),
        ("absent", "no function 'absent'"),
        ("missing:verify", "no plugin 'missing'"),
        ("broken:verify", "ZeroDivisionError"),
    ],
)
async def test_whatever_it_does_is_no_proof_and_the_next_is_asked(
    world: World, function: str, why: str
) -> None:
    said = await world.ask(function, keys=(KEY, CANARY))
    assert isinstance(said, str)
    assert why in said
    assert CANARY.decode() not in said
    assert await world.ask("verify", check=signed()) is True


async def test_what_it_is_given(world: World) -> None:
    assert await world.ask("environment") is True
    headers = ((b"x-check", b"a"), (b"authorization", b"Bearer t"), (b"x-check", b"b"))
    wanted = FunctionProof("tried:given", BODY, headers, (LiveSecret("k", KEY),))
    assert await world.proofs.ask(wanted, str(world.folder)) is True


@pytest.mark.long
async def test_a_slow_function_delays_no_other(world: World) -> None:
    """Two of it run, the others wait; another function has processes of its own."""
    begun, before = world.folder / "begun", children()
    slow = [asyncio.ensure_future(world.ask("hangs")) for _ in range(AT_ONCE + 3)]
    await until(begun.exists)
    assert await world.ask("verify", check=signed()) is True
    assert sum(one.done() for one in slow) <= AT_ONCE
    assert len(children() - before) <= AT_ONCE + 1
    assert {await one for one in slow} == {"stopped after 0.25 s"}


async def test_who_no_longer_waits_leaves_nothing_running(world: World) -> None:
    begun, before = world.folder / "begun", children()
    asking = asyncio.ensure_future(world.ask("hangs"))
    await until(begun.exists)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert not children() - before
    assert await world.ask("verify", check=signed()) is True
