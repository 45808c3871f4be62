"""
What stands for the parts of the running test in an application that all tests share.

Building Litestar's application takes a fifth of a second, more than a test.
"""

from typing import Any


class StandIn:
    """Passes everything on to `real`, which each test sets."""

    def __init__(self) -> None:
        self.real: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.real, name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.real(*given, **named)

    async def __aenter__(self) -> Any:
        return await self.real.__aenter__()

    async def __aexit__(self, *error: Any) -> Any:
        return await self.real.__aexit__(*error)


class StandIns(dict[str, StandIn]):
    """Several of them, by name."""

    def __init__(self, *names: str) -> None:
        super().__init__((name, StandIn()) for name in names)

    def take(self, **real: Any) -> None:
        """Let these be what is behind them from now on."""
        for name, one in real.items():
            self[name].real = one
