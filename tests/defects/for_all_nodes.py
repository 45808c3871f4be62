"""Defects of what must be one for all nodes of a ledger."""

from tests.defects.defect import Edit, defect

_CONFORMANCE = "conformance/test_in_force.py::test_of_two_nodes_only_the_one_whose_rules_are"

FOR_ALL_NODES = (
    defect(
        116,
        "a node holds and releases jobs by its own rules, whatever is in force",
        Edit(
            "router/store/sqlite/holding.py",
            "    if not is_in_force(book, generation):\n",
            "    if False:\n",
        ),
        f"{_CONFORMANCE}_in_force_holds",
    ),
    defect(
        117,
        "a node gives all groups its own limits, whatever is in force",
        Edit(
            "router/store/sqlite/runs.py",
            "    if not is_in_force(book, generation):\n",
            "    if False:\n",
        ),
        f"{_CONFORMANCE}_in_force_regroups",
    ),
    defect(
        118,
        "a node that restarts puts its old rules in force again",
        Edit(
            "router/store/sqlite/in_force.py",
            "FROM published WHERE by = ?2 ORDER",
            "FROM published ORDER",
        ),
        "conformance/test_in_force.py::"
        "test_a_node_that_restarts_with_what_it_had_puts_nothing_in_force",
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
    defect(
        150,
        "of routers with other secrets the oldest is right, though all others agree",
        Edit(
            "router/serving/node_agreement.py",
            "key=lambda one: (_against(one, nodes), int(one.number))",
            "key=lambda one: int(one.number)",
        ),
        "unit/serving/test_node_agreement.py::test_most_are_right_and_in_doubt_the_oldest",
    ),
    defect(
        152,
        "a fingerprint is whole, and proves a guess",
        Edit("router/wiring/fingerprints.py", "[:FINGERPRINT_BYTES]", ""),
        "unit/wiring/test_fingerprints.py"
        "::test_a_fingerprint_tells_nothing_but_whether_a_value_is_the_same",
    ),
)
