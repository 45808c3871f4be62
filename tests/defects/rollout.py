"""Defects of rules that are published for all nodes."""

from tests.defects.defect import Edit, defect

_FOLLOWED = "unit/serving/test_publications.py::test"

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
        Edit("router/cli/publish.py", "by=by, at=at, after=after)", "by=by, at=at)"),
        "unit/cli/test_publish.py::test_who_is_too_late_is_told_by_whom_and_changes_nothing",
    ),
)
