"""Defects of answers that are made of the request."""

from tests.defects.defect import Edit, defect

_MADE = "router/rules/answers.py"
_REPLY = "router/intake/reply.py"
_HERE = "acceptance/test_answers.py::test"
_ROWS = f"{_HERE}_an_answer_is_made_of_the_request"

ANSWERING = (
    defect(
        385,
        "an answer that cannot be made refuses the delivery",
        Edit(
            _REPLY,
            "        answer = endpoint.made.answer(known)[0] or answer\n",
            "        answer = endpoint.made.answer(known)[0]\n"
            "        if answer is None:\n            return UNAVAILABLE\n",
        ),
        _ROWS,
    ),
    defect(
        386,
        "a sender begins a header of its own in an answer",
        Edit(_MADE, r"[^ -~\xa0-\xff]", r"[^\x00-\xff]"),
        _ROWS,
    ),
    defect(
        387,
        "where an answer cannot be made, `otherwise` is left out",
        Edit(
            _MADE,
            "self.otherwise.answer(scope) if self.otherwise else (None, ())",
            "(None, ())",
        ),
        _ROWS,
    ),
    defect(
        388,
        "the answer to a copy names a delivery that is not stored",
        Edit(_REPLY, '"id": receipt.delivery}', '"id": asked["delivery"]["id"]}'),
        f"{_HERE}_a_copy_gets_an_answer_of_its_own",
    ),
    defect(
        389,
        "an answer tells the sender of a stored delivery that it failed",
        Edit(_MADE, '"2[0-9]{2}"', '"[2-5][0-9]{2}"'),
        _ROWS,
    ),
)
