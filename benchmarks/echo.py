"""
The bare server to compare with: a Litestar mount that answers with the body it got.

`python -m benchmarks.echo PORT`, on the router's own listener.
"""

import asyncio
import sys
from typing import Any

import uvloop
from litestar import Litestar, asgi
from litestar.types import Receive, Scope, Send

from router.model.settings import Limits
from router.web.admin.asgi import AsgiDoor
from router.web.budget import Budget
from router.web.connections import Wire
from router.web.load_shedding import LoadShedder
from router.web.server import Listener


@asgi("/", is_mount=True, copy_scope=False)
async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the whole body, send it back."""
    del scope
    content = (await receive()).get("body", b"")
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})


async def serve(port: int) -> None:
    limits, app = Limits(), Litestar([echo])
    given: Any = app
    door = AsgiDoor(given, Budget(limits.in_flight_bytes, limits.in_flight_wait_s), LoadShedder())
    await Listener(f"127.0.0.1:{port}", Wire(limits, door)).start()
    await asyncio.Event().wait()


def main() -> None:
    uvloop.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
