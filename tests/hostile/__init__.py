"""
Whoever means harm to the router from its other side: targets, commands, plugins.

Each is a line of a table and is tried in three ways: alone, for what becomes of the call
(`tests/unit/actions`, `tests/faults`) and for what it takes of the loop (`turns.py`); all at once
beside deliveries of another endpoint (`tests/conformance/test_neighbours.py`); one after the other
at full length (`python -m benchmarks hostile`). `python -m tests.hostile` serves the targets.
"""
