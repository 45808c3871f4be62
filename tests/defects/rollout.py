"""Defects of rules that are published for all nodes."""

from tests.defects.defect import Edit, defect

_FOLLOWED = "unit/serving/test_publications.py::test"
_AGREED = "unit/serving/test_node_agreement.py::test"

ROLLOUT = (
    defect(
        147,
        "published rules are in force before the other nodes have them ready",
        Edit(
            "router/serving/publications.py",
            "        return all(id_ in (card.generation, card.ready_for) for card in nodes)\n",
            "        return bool(nodes)\n",
        ),
        f"{_FOLLOWED}_what_is_published_is_in_force_when_all_living_nodes_are_ready",
    ),
    defect(
        148,
        "a node that cannot follow holds up all others",
        Edit(
            "router/serving/publications.py",
            "        return self._clock.now() - publication.at < AGREE_MS\n",
            "        return True\n",
        ),
        f"{_FOLLOWED}_who_lags_holds_nobody_up_for_more_than_a_minute",
        f"{_FOLLOWED}_who_lags_is_not_ready_once_others_do_not_wait_any_more",
    ),
    defect(
        149,
        "what is published is put over what somebody else published meanwhile",
        Edit("router/cli/publish.py", "at=new.at, after=after, ", "at=new.at, "),
        "unit/cli/test_publish.py::test_who_is_too_late_is_told_by_whom_and_changes_nothing",
    ),
    defect(
        150,
        "of routers with other secrets the oldest is right, though all others agree",
        Edit(
            "router/serving/node_agreement.py",
            "published)), against, int(one.number)",
            "published)), 0 * against, int(one.number)",
        ),
        f"{_AGREED}_a_machine_that_publishes_without_secrets_says_nothing_of_them",
        "unit/serving/test_nodes.py::test_nor_while_its_machine_differs_from_those_of_the_others",
    ),
    defect(
        151,
        "a router is not compared with the machine where its rules were published",
        Edit(
            "router/serving/node_agreement.py",
            "newest.local if newest and is_ours else NO_LOCAL",
            "NO_LOCAL",
        ),
        f"{_AGREED}_a_machine_that_publishes_without_secrets_says_nothing_of_them",
        f"{_AGREED}_it_is_said_once_and_when_it_is_over",
    ),
    defect(
        152,
        "a fingerprint is whole, and proves a guess",
        Edit("router/wiring/local_parts.py", "[:FINGERPRINT_BYTES]", ""),
        "unit/wiring/test_local_parts.py"
        "::test_a_fingerprint_tells_nothing_but_whether_a_value_is_the_same",
    ),
)
