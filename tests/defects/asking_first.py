"""Defects of what senders ask before they send, and of bodies that are not one event of JSON."""

from tests.defects.defect import Edit, defect

_HANDSHAKES = "router/providers/handshakes.py"
_TESTS = "unit/providers/test_handshakes.py"

ASKING_FIRST = (
    defect(
        169,
        "a question is answered to who knows no secret of the endpoint",
        Edit(_HANDSHAKES, "if equal_one(shown, usable) is None:", "if not usable:"),
        f"{_TESTS}::test_a_question_by_get_is_answered_to_who_knows_the_token",
    ),
    defect(
        170,
        "what is sent back may mean something to a browser",
        Edit(
            _HANDSHAKES,
            "text if text is not None and HARMLESS.fullmatch(text) else None",
            "text",
        ),
        f"{_TESTS}::test_only_short_harmless_texts_are_echoed",
    ),
    defect(
        171,
        "a signed question is answered before it is proved",
        Edit(
            _HANDSHAKES,
            'q.rule.method == "POST" and q.rule.unsigned)',
            'q.rule.method == "POST")',
        ),
        f"{_TESTS}::test_the_url_verification_of_slack",
        "conformance/test_sender_handshakes.py::"
        "test_a_question_that_has_to_be_proved_is_not_answered_to_others",
    ),
    defect(
        172,
        "what an answered question had signed passes for a delivery",
        Edit(
            _HANDSHAKES,
            "if self._signs_for_all and secrets and _could_be_echoed(request.body):",
            "if False:",
        ),
        f"{_TESTS}::test_what_an_answer_has_signed_proves_no_delivery",
    ),
    defect(
        173,
        "an address is visited that nothing has proved",
        Edit(_HANDSHAKES, "if proved or q.rule.visit is None]", "]"),
        f"{_TESTS}::test_the_address_of_a_proved_question_is_to_be_visited",
        "unit/intake/test_intake_senders.py::test_only_what_is_proved_has_an_address_visited",
    ),
    defect(
        174,
        "a host that merely ends like a listed one is visited",
        Edit(
            "router/providers/allowed_hosts.py",
            'return host.endswith(allowed) if allowed.startswith(".") else host == allowed',
            "return host.endswith(allowed)",
        ),
        f"{_TESTS}::test_no_other_address_is_visited",
    ),
    defect(
        175,
        "an address that was visited is visited again",
        Edit(
            "router/provider_calls/visits.py",
            "if address in self._known or address in self._waiting:",
            "if address in self._waiting:",
        ),
        "unit/provider_calls/test_visits.py::test_an_address_is_fetched_once",
    ),
    defect(
        176,
        "XML may bring a DTD, and entities with it",
        Edit("router/providers/xml_body.py", "    parser.StartDoctypeDeclHandler = _no_dtd\n", ""),
        "unit/providers/test_other_bodies.py::test_what_is_no_plain_xml_is_unparsed",
    ),
)
