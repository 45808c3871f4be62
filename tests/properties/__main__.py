"""
Histories of verbs that the store in its file and the model in dicts might tell differently.

    python -m tests.properties --seeds 20                      some ten minutes
    python -m tests.properties --first 1234 --seeds 1 --only runs

Each seed is a hundred histories of each machine. One that fails is made short, which may take some
minutes, and is printed with its seed.
"""

import argparse
import random
import sys
import time
import traceback

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.faults.telling import reported, say, verdict
from tests.properties.test_chains import Runs
from tests.properties.test_store import Histories

MACHINES: dict[str, type[RuleBasedStateMachine]] = {"histories": Histories, "runs": Runs}
EACH = settings(
    max_examples=100,
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def problem(name: str, machine: type[RuleBasedStateMachine], number: int) -> str | None:
    """What one seed of a machine finds, in words."""
    try:
        run_state_machine_as_test(seed(number)(machine), settings=EACH)
    except Exception:  # noqa: BLE001 - whatever breaks a history is a finding
        return f"{name}, seed {number}:\n{traceback.format_exc(limit=-3)}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--only", choices=sorted(MACHINES))
    options = parser.parse_args()
    say(f"first seed {options.first}")
    began = time.monotonic()
    numbers = range(options.first, options.first + options.seeds)
    chosen = {name: m for name, m in MACHINES.items() if options.only in (None, name)}
    todo = [(name, machine, n) for n in numbers for name, machine in chosen.items()]
    found = [text for one in reported(todo, "seeds") if (text := problem(*one)) is not None]
    return verdict(found, f"{len(todo)} times 100 histories; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
