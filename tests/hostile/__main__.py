"""
Serve every hostile target, each at a port of its own, until standard input ends.

    python -m tests.hostile        prints {"NAME": "URL", …} on one line
"""

import asyncio
import contextlib
import json
import sys

from tests.hostile.targets import TABLE, serving


async def main() -> None:
    async with contextlib.AsyncExitStack() as stack:
        urls = {}
        for name, (_, script) in TABLE.items():
            urls[name], _ = await stack.enter_async_context(serving(script))
        sys.stdout.write(json.dumps(urls) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
