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
)
