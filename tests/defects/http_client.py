"""Faults of the client of `http` actions."""

from tests.defects.defect import Edit, defect

_CONNECTION = "router/actions/http_client/connection.py"
_DIALLING = "router/actions/http_client/dialling.py"
_CHECK = "        self._egress.check(address, host, literal=is_written(address, host, (host,)))\n"
HTTP_CLIENT = (
    defect(
        102,
        "the address that a plain call connects to is not checked",
        Edit(_DIALLING, _CHECK, ""),
        "wire/test_calls_addresses.py::test_as_the_answer_to_a_name",
    ),
    defect(
        103,
        "a line break is written in a header",
        Edit(
            "router/actions/http_client/request.py",
            "if automatic is None or not (values.isprintable() or _UNWRITABLE(values) is None):",
            "if automatic is None:",
        ),
        "wire/test_calls_written.py::test_a_header_that_could_change_the_message",
    ),
    defect(
        104,
        "a call that may have been taken is sent again at once",
        Edit(
            _CONNECTION,
            "if self._used and exchange.request.method in IDEMPOTENT and not self._reader.heard:",
            "if self._used and not self._reader.heard:",
        ),
        "wire/test_calls_written.py::test_what_is_sent_once_more",
    ),
    defect(
        105,
        "what stands behind an answer becomes the next one's beginning",
        Edit(
            "router/actions/http_client/response.py",
            "            self._beyond = True\n            self.reusable = False\n",
            "            self._beyond = True\n",
        ),
        "wire/test_calls.py::test_an_answer",
    ),
    defect(
        106,
        "who cancels late breaks off another call",
        Edit(
            _CONNECTION,
            "        if self._ended is None:\n            return  # its connection",
            "        if self._ended is ...:\n            return  # its connection",
        ),
        "unit/actions/http_client/test_client.py::test_cancelling_what_has_ended_does_nothing",
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
    defect(
        381,
        "a connection made with one certificate serves calls with another",
        Edit(
            "router/actions/http_client/request.py",
            "    authority: str\n    tls: ssl.SSLContext | None\n",
            "    authority: str\n    tls: ssl.SSLContext | None\n\n"
            "    def __eq__(self, other: object) -> bool:\n"
            "        return tuple(self)[:3] == tuple(other)[:3]\n\n"
            "    def __hash__(self) -> int:\n"
            "        return hash(tuple(self)[:3])\n",
        ),
        "wire/test_calls_tls.py::test_a_connection_serves_no_other_trust",
    ),
    defect(
        382,
        "where a name leads is checked at its first connection alone",
        Edit(
            _DIALLING,
            _CHECK,
            '        checked = self.__dict__.setdefault("checked", set())\n'
            "        if host not in checked:\n"
            f"    {_CHECK}"
            "        checked.add(host)\n",
        ),
        "wire/test_calls_addresses.py::test_as_the_second_answer_to_a_name",
    ),
    defect(
        383,
        "what lies in a kept connection is read as the next call's answer",
        Edit(_CONNECTION, "return fresh and not self._lying.poll(0)", "return fresh"),
        "wire/test_calls.py::test_what_nobody_asked_for_between_two_calls",
    ),
    defect(
        384,
        "an answer that breaks off over TLS counts as whole",
        Edit(
            _CONNECTION,
            "        if isinstance(exc, ssl.SSLError):\n",
            "        if self.origin.tls is not None and self._reader._status:\n"
            "            exchange.end(self._reader._answer())\n"
            "            return\n"
            "        if isinstance(exc, ssl.SSLError):\n",
        ),
        "wire/test_calls_tls.py::test_an_end_without_close_notify",
    ),
)
