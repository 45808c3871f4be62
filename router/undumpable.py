"""
A process that holds secrets keeps them from the other processes of its user.

On Linux its memory, its environment and its open files in /proc then belong to root, and no
debugger of that user can take hold of it. What it starts starts again, as any process.
"""

import contextlib

_SET_DUMPABLE = 4


def make_undumpable() -> None:
    """Let no other process of this user look into this one, and write no core file, ever."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import ctypes  # noqa: PLC0415 - only who holds secrets needs it

    with contextlib.suppress(AttributeError, OSError):  # prctl is Linux's own
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
