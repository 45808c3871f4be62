"""Defects of what must be one for all nodes of a ledger."""

from tests.defects.defect import Edit, defect

_CONFORMANCE = "conformance/test_published.py::test_of_two_nodes_only_the_one_whose_rules_are"

FOR_ALL_NODES = (
    defect(
        116,
        "a node holds and releases jobs by its own rules, whatever is in force",
        Edit(
            "router/store/sqlite/holding.py",
            "    if not in_force(book, generation):\n",
            "    if False:\n",
        ),
        f"{_CONFORMANCE}_in_force_holds",
    ),
    defect(
        117,
        "a node gives all groups its own limits, whatever is in force",
        Edit(
            "router/store/sqlite/runs.py",
            "    if not in_force(book, generation):\n",
            "    if False:\n",
        ),
        f"{_CONFORMANCE}_in_force_regroups",
    ),
    defect(
        118,
        "a node that restarts puts its old rules in force again",
        Edit(
            "router/store/common/publications.py",
            "if after is None and newest and own and own.generation == given.generation:\n",
            "if after is None and newest and newest.generation == given.generation:\n",
        ),
        "conformance/test_published.py::"
        "test_a_node_that_restarts_with_what_it_had_publishes_nothing",
        "unit/wiring/test_put_in_force.py::"
        "test_who_comes_back_with_old_rules_has_them_in_force_only_if_it_is_alone",
    ),
    defect(
        119,
        "what another node has paused is called on here",
        Edit(
            "router/dispatch/dispatcher.py",
            "        await self.breakers.agree(self._store)\n",
            "",
        ),
        "unit/dispatch/test_targets.py::"
        "test_what_another_node_pauses_is_not_called_from_the_next_sweep_on",
        "unit/dispatch/test_targets.py::test_what_is_heard_of_another_node_waits_for_no_sweep",
    ),
)
