"""
The bare server to compare with: a Litestar mount that answers with the body it got.

`python -m benchmarks.echo PORT`, under the uvicorn set-up that the router uses.
"""

import sys

import uvicorn
from litestar import Litestar, asgi
from litestar.types import Receive, Scope, Send


@asgi("/", is_mount=True, copy_scope=False)
async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the whole body, send it back."""
    del scope
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = bool(message.get("more_body", False))
    content = b"".join(parts)
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})


def main() -> None:
    uvicorn.run(
        Litestar([echo]),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
