"""Defects of restarts, of a router that is held or stood still, and of a store that is away."""

from tests.defects.defect import Edit, defect

_FAILURES = "unit/store/postgres/test_failures.py::test"
_PARTS = "unit/serving/test_process.py::test_a_part"

RESTARTS = (
    defect(
        257,
        "who came while nobody listened has waited too long when somebody does",
        Edit(
            "router/web/protocol.py",
            "max(self._now - waited_s(self.transport), self._wire.opened_at)",
            "self._now - waited_s(self.transport)",
        ),
        "wire/test_scenes.py::test_who_came_before_it_listens_is_served",
    ),
    defect(
        258,
        "who has sent half of a head when the listener ends hears nothing",
        Edit(
            "router/web/bounded_connection.py",
            "(not at.served or at.in_head or unread)",
            "(not at.served or unread)",
        ),
        "wire/test_scenes.py::test_a_stop_answers_who_has_begun_and_lets_all_others_go",
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
            "LoadShedder(calm_s=ADMIN_ANSWER_S)",
            "LoadShedder()",
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
    defect(
        275,
        "the driver's own confusion is no outage, and its connection is used again",
        Edit("router/store/postgres/failures.py", "    asyncpg.InternalClientError,\n", ""),
        f"{_FAILURES}_what_becomes_of_an_error",
        f"{_FAILURES}_the_driver_raises_nothing_else",
    ),
    defect(
        276,
        "a lock that somebody else holds is a defect of who asks",
        Edit(
            "router/store/postgres/connection.py",
            "except DRIVER as error:\n                failed",
            "except (asyncpg.InterfaceError, OSError) as error:\n                failed",
        ),
        f"{_FAILURES}_a_lock_is_an_outage_for_whoever_asks",
    ),
    defect(
        277,
        "whoever waits for a lock takes the last connection that accepts",
        Edit(
            "router/store/postgres/database.py",
            "asyncio.Semaphore(max(1, share - 1))",
            "asyncio.Semaphore(share)",
        ),
        f"{_FAILURES}_whatever_waits_leaves_a_connection_to_accept",
    ),
    defect(
        278,
        "a part that ends ends the router at once",
        Edit("router/serving/process.py", "(1.0, 5.0, 15.0)", "()"),
        f"{_PARTS}_that_ends_is_started_again_three_times",
        f"{_PARTS}_that_ran_for_long_gets_its_restarts_anew",
    ),
    defect(
        279,
        "a part that ran for long has used up its restarts",
        Edit(
            "router/serving/process.py",
            "if self._clock.monotonic() - began >= STEADY_S",
            "if self._clock.monotonic() < began",
        ),
        f"{_PARTS}_that_ran_for_long_gets_its_restarts_anew",
    ),
)
