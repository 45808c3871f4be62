"""
`python -m tests.release lock`: pin what the image, CI and a build are made of, to the newest.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.release import locks
from tests.release.environments import TOOLS, Environment


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("what", choices=["lock"])
    parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tools = Environment(Path(name) / "tools")
        tools.install(*TOOLS)
        locks.renew(tools.bin / "uv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
