"""Faults of the client for plain HTTP."""

from tests.defects.defect import Edit, defect

PLAIN_HTTP = (
    defect(
        102,
        "the address that a plain call connects to is not checked",
        Edit(
            "router/actions/plain_http/client.py",
            "        self._egress.check(address, host, literal="
            "is_written(address, host, (host,)))\n",
            "",
        ),
        "unit/actions/test_http.py::test_a_name_may_not_lead_inside",
        "unit/actions/plain_http/test_client.py::"
        "test_what_a_name_leads_to_is_checked_address_by_address",
    ),
    defect(
        103,
        "a line break is written in a header",
        Edit(
            "router/actions/plain_http/request.py",
            'if automatic is None or not "".join([value for _, value in headers]).isprintable():',
            "if automatic is None:",
        ),
        "unit/actions/plain_http/test_request.py::"
        "test_a_header_that_could_change_the_message_is_declined",
        "unit/actions/test_http.py::test_a_broken_header_never_leaves",
    ),
    defect(
        104,
        "a call that may have been taken is sent again at once",
        Edit(
            "router/actions/plain_http/client.py",
            "if self._used and exchange.request.idempotent and not self._reader.heard:",
            "if self._used and not self._reader.heard:",
        ),
        "unit/actions/plain_http/test_client.py::test_what_may_have_been_done_is_not_sent_again",
    ),
    defect(
        105,
        "what stands behind an answer becomes the next one's beginning",
        Edit(
            "router/actions/plain_http/response.py",
            "            self._beyond = True\n            self.reusable = False\n",
            "            self._beyond = True\n",
        ),
        "unit/actions/plain_http/test_response.py::test_after_these_the_connection_is_not_used_again",
    ),
    defect(
        106,
        "who cancels late breaks off another call",
        Edit(
            "router/actions/plain_http/client.py",
            "        if self._ended is None:\n            return  # its connection",
            "        if self._ended is ...:\n            return  # its connection",
        ),
        "unit/actions/plain_http/test_client.py::test_cancelling_what_has_ended_does_nothing",
    ),
    defect(
        107,
        "an escape hides a secret in an answer's JSON",
        Edit(
            "router/actions/kept_response.py",
            'if known or "\\\\" in text else found',
            "if known else found",
        ),
        "unit/actions/test_http_answers.py::test_no_escape_hides_a_secret_from_what_is_masked",
    ),
)
