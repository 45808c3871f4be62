"""Defects of asking a sender again, and of how often and as whom it is asked."""

from tests.defects.defect import Edit, defect

_RECOVERY = "unit/provider_calls/test_recovery.py"

MISSED = (
    defect(
        200,
        "what was asked for a moment ago is asked for again",
        Edit(
            "router/provider_calls/recovery.py",
            "self._lately = {key for key, at in asked.items() if at > recent}",
            "self._lately = {key for key, at in asked.items() if at > now}",
        ),
        f"{_RECOVERY}::test_the_same_is_not_asked_for_twice_within_minutes",
    ),
    defect(
        201,
        "one attempt that succeeded does not count for the others of its delivery",
        Edit(
            "router/provider_calls/recovery.py",
            "            self._done.add(item.key)\n            if item.delivered:\n",
            "            if not item.delivered:\n                self._done.add(item.key)\n"
            "            if item.delivered:\n",
        ),
        f"{_RECOVERY}::test_what_was_never_delivered_is_delivered_again",
    ),
    defect(
        202,
        "a router that lost its claim goes on beside the one that has it",
        Edit(
            "router/provider_calls/recovery.py",
            'raise StoppedError("another router goes on with it")',
            "return",
        ),
        f"{_RECOVERY}::test_who_lost_its_claim_stops",
    ),
    defect(
        203,
        "calls a second are counted as they leave, not as they arrive",
        Edit(
            "router/provider_calls/rate_limit.py",
            "        self._free[-1] = self._clock.monotonic() + WINDOW_S\n",
            "        pass\n",
        ),
        "unit/provider_calls/test_rate_limit.py::test_no_second_of_the_senders_has_more",
    ),
    defect(
        204,
        "a fetched event passes for one that was delivered",
        Edit("router/intake/routing.py", "if verdict.recovered:", "if False:"),
        "unit/cli/test_recover.py::test_fetched_events_are_deliveries",
    ),
)
