"""Defects of what senders differ in: addresses that they sign, numbers and answers of their own."""

from tests.defects.defect import Edit, defect

_READ = "router/providers/read.py"

EACH_SENDER = (
    defect(
        187,
        "who signs the address is judged by none, whatever the endpoint says",
        Edit("router/intake/judging.py", "if settings.public_url:", "if not settings.public_url:"),
        "unit/intake/test_intake_senders.py::"
        "test_the_address_that_is_signed_is_the_one_that_the_endpoint_names",
    ),
    defect(
        188,
        "all events of one name of a sender that numbers nothing are one",
        Edit(
            "router/rules/plan.py",
            "            identity = body_identity(read.name, body)\n            flag",
            '            identity = body_identity(read.name, b"")\n            flag',
        ),
        "unit/rules/test_plan.py::test_who_numbers_nothing_is_known_by_event_and_body",
    ),
    defect(
        189,
        "two ids of several fields run together into one",
        Edit(_READ, '" ".join(filter(None, values))', '"".join(filter(None, values))'),
        "unit/providers/test_read.py::test_an_id_may_be_of_several_fields",
    ),
    defect(
        190,
        "a sender that wants an answer of its own gets ours",
        Edit("router/config/endpoints.py", "answer=_usual_answer(provider),", "answer=None,"),
        "unit/config/test_providers.py::"
        "test_what_its_sender_wants_is_the_answer_of_an_endpoint_without_one",
    ),
    defect(
        191,
        "a signed form of any size is decoded before it is proved",
        Edit(
            "router/providers/evidence.py", "if len(self.request.body) > most and", "if False and"
        ),
        "conformance/test_proofs.py::test_a_large_form_is_split_and_a_larger_one_refused",
    ),
)
