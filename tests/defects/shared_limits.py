"""Defects of limits that several routers share."""

from tests.defects.defect import Edit, defect

_SHARES = "conformance/test_shares.py::test"
_HERE = "unit/dispatch/test_node_shares.py::test"

SHARED_LIMITS = (
    defect(
        142,
        "a share is handed on while more than it still runs where it was",
        Edit(
            "router/model/share.py",
            "            if use.running:\n",
            "            if False:\n",
        ),
        "unit/dispatch/test_division.py::test_what_shrinks_is_handed_on_once_less_runs_there",
    ),
    defect(
        143,
        "what a gone node still runs counts no more",
        Edit("router/store/postgres/shares.py", " - await lost(tx, node)", ""),
        f"{_SHARES}_who_is_gone_counts_until_its_jobs_are_reclaimed",
    ),
    defect(
        144,
        "a node without a share of a target starts its jobs",
        Edit(
            "router/dispatch/slots.py",
            "            return TargetLimits(0, None, whole.breaker)\n",
            "            return whole\n",
        ),
        f"{_HERE}_without_a_share_nothing_is_started_until_it_comes",
    ),
    defect(
        145,
        "a node that goes on as another goes by what its former number was given",
        Edit(
            "router/dispatch/node_shares.py",
            "        self._version, self._slots.given = 0, {}\n",
            "        self._version = 0\n",
        ),
        f"{_HERE}_another_node_s_shares_are_not_its_own",
    ),
    defect(
        146,
        "several nodes divide the limits, each as it likes",
        Edit(
            "router/store/postgres/nodes.py",
            "may = await claimed(tx, CLAIM, node, ttl_ms)",
            "may = True",
        ),
        f"{_SHARES}_one_node_divides_at_a_time",
        f"{_SHARES}_another_goes_on_when_the_time_is_over_or_the_node_is_gone",
    ),
)
