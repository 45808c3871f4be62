"""Defects of a restart, of a router that is held and of one that stood still."""

from tests.defects.defect import Edit, defect

RESTARTS = (
    defect(
        257,
        "who came while nobody listened has waited too long when somebody does",
        Edit(
            "router/web/protocol.py",
            "max(self._now - waited_s(self.transport), self._wire.opened_at)",
            "self._now - waited_s(self.transport)",
        ),
        "unit/web/test_server.py"
        "::test_a_socket_that_was_given_is_listened_on_and_outlives_the_listener",
    ),
    defect(
        258,
        "who has sent half of a head when the listener ends hears nothing",
        Edit(
            "router/web/bounded_connection.py",
            "(not at.served or at.in_head or unread)",
            "(not at.served or unread)",
        ),
        "unit/web/test_server.py::test_who_is_about_to_ask_is_answered_before_the_end",
    ),
    defect(
        270,
        "a router that is held runs jobs all the same",
        Edit("router/dispatch/leases.py", "        if self.held:\n            return False\n", ""),
        "unit/dispatch/test_held_back.py::test_a_held_router_runs_nothing_until_it_is_resumed",
        "acceptance/test_hold.py::test_no_job_runs_until_it_is_resumed",
    ),
    defect(
        274,
        "a page is refused because the machine stood still for a second",
        Edit(
            "router/wiring/listeners.py",
            "Wire(limits, patience=LoadShedder(calm_s=ADMIN_ANSWER_S))",
            "Wire(limits)",
        ),
        "acceptance/test_stalled.py::test_what_came_while_the_machine_stood_still",
    ),
    defect(
        307,
        "a clock that was set on while the router was down prunes at once",
        Edit(
            "router/serving/upkeep.py",
            'if self._clock.doubted() or not await self._claimed("prune", CLAIM_MS):',
            'if not await self._claimed("prune", CLAIM_MS):',
        ),
        "conformance/test_doubtful_clock.py::test_retention_begins_an_hour_after_such_a_start",
    ),
    defect(
        308,
        "retries of a machine that boots with a wrong clock die of age at once",
        Edit(
            "router/dispatch/runner.py",
            "if too_old(job, self._clock.ledger()) and not self._clock.doubted():",
            "if too_old(job, self._clock.ledger()):",
        ),
        "unit/dispatch/test_dispatcher.py::test_while_the_clock_is_doubtful_no_job_is_too_old",
        "acceptance/test_clock.py::test_a_machine_that_boots_with_a_wrong_clock_costs_nothing",
    ),
    defect(
        309,
        "a wrong clock that is set right leaves the ledger so much older",
        Edit(
            "router/store/sqlite/clock_step.py", "        if ms < 0:\n", "        if ms is None:\n"
        ),
        "conformance/test_doubtful_clock.py::"
        "test_who_sets_it_right_loses_nothing_and_keeps_nothing_longer",
        "unit/serving/test_clock_sync.py::"
        "test_a_doubtful_clock_that_is_set_right_before_the_next_start",
    ),
)
