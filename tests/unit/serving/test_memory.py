"""Large blocks leave with who freed them."""

import platform
import subprocess
import sys

import pytest

MIB = 1024 * 1024
PROBE = f"""
import re, sys
from pathlib import Path
from router.serving.memory import give_back_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def hold_and_free():
    bodies = []
    small = []
    for _ in range(4):
        bodies.append(bytearray(b"x") * (25 * {MIB}))
        small.append([bytes(700) for _ in range(50)])
        if len(bodies) == 2:
            del bodies[0]
    del bodies
    return small

if sys.argv[1] == "told":
    assert give_back_large_blocks()
before = resident()
kept = hold_and_free()
print((resident() - before) // {MIB})
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="speaks of glibc's allocator")
def test_freed_bodies_leave_nothing_behind() -> None:
    def left(word: str) -> int:
        command = [sys.executable, "-c", PROBE, word]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    assert left("told") < 12
