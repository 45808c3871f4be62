"""Defects of traces: what is recorded, and what whoever is called is told."""

from tests.defects.defect import Edit, defect

_SPANS = "router/wiring/spans.py"
_MADE = "unit/wiring/test_spans.py::test"

TRACING = (
    defect(
        248,
        "a retry is the same span as the attempt before it",
        Edit("router/model/trace.py", '_digest(f"{job}/{number}", 8)', "_digest(job, 8)"),
        "unit/model/test_trace.py::test_whoever_asks_gets_the_same_ids",
    ),
    defect(
        249,
        "a span says in the target's or plugin's words why an attempt failed",
        Edit(
            _SPANS,
            'attributes["error.type"] = settlement.failure or attempt.outcome',
            'attributes["error.type"] = attempt.reason or attempt.outcome',
        ),
        f"{_MADE}_nothing_of_a_payload_is_in_a_span",
    ),
    defect(
        250,
        "what is not sampled is recorded all the same",
        Edit(_SPANS, "if is_sampled else None", "if ids else None"),
        f"{_MADE}_what_is_not_sampled_is_not_made_and_is_told_so",
    ),
    defect(
        251,
        "a processor that raises ends the work that it was told of",
        Edit(_SPANS, "except Exception as error:", "except LookupError as error:"),
        f"{_MADE}_a_processor_that_raises_harms_nobody",
    ),
    defect(
        252,
        "a command is not told which span it is part of",
        Edit(
            "router/kinds/shell.py",
            "return env if given.traced is None else env | {VARIABLE: given.traceparent()}",
            "return env",
        ),
        "unit/rules/test_render_hygiene.py"
        "::test_whoever_is_called_knows_the_span_that_the_router_makes",
    ),
)
