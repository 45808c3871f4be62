"""A SIGTERM that comes before the router serves."""

import signal
import subprocess
import sys

import pytest

from router.wiring.launch import leaving_at_once

SELF = (
    "import os, signal\n"
    "from router.wiring.launch import leaving_at_once\n"
    "with leaving_at_once():\n"
    "    os.kill(os.getpid(), signal.SIGTERM)\n"
    "    signal.pause()\n"
)


@pytest.mark.long
def test_it_ends_the_process_at_once_with_0() -> None:
    assert subprocess.run([sys.executable, "-c", SELF], check=False, timeout=120).returncode == 0


def test_afterwards_signals_are_as_they_were() -> None:
    former = signal.getsignal(signal.SIGTERM)
    with leaving_at_once():
        assert signal.getsignal(signal.SIGTERM) is not former
    assert signal.getsignal(signal.SIGTERM) is former
