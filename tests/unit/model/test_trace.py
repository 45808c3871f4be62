"""Ids of traces and spans, made of those of deliveries and jobs."""

import re

from router.model.trace import SpanIds, of_attempt, of_delivery, of_sender
from tests.builders import a_delivery

SENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_whoever_asks_gets_the_same_ids() -> None:
    assert of_delivery("dlv_1") == of_delivery("dlv_1") != of_delivery("dlv_2")
    assert of_attempt("job_1", 1) == of_attempt("job_1", 1)
    assert len({of_attempt("job_1", 1), of_attempt("job_1", 2), of_attempt("job_2", 1)}) == 3
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", str(of_delivery("dlv_1")))


def test_the_sender_s_span_is_read_as_it_was_sent() -> None:
    found = of_sender(a_delivery(headers=(("traceparent", SENT),)))
    assert found == SpanIds("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "01")
    assert str(found) == SENT
    assert of_sender(a_delivery()) is None
