"""Defects of operators' conditions: what they may take, and from whom."""

from tests.defects.defect import Edit, defect

_HERE = "acceptance/test_conditions.py"
_CHILDREN = "router/wiring/condition_children.py"

CONDITIONS = (
    defect(
        285,
        "a condition is evaluated for as long as it takes",
        Edit(_CHILDREN, "asyncio.timeout(within_s)", "asyncio.timeout(None)"),
        f"{_HERE}::test_what_takes_long_is_ended_and_delays_no_delivery",
    ),
    defect(
        286,
        "a condition takes four times the memory that it may",
        Edit(_CHILDREN, '".", env, MEMORY)', '".", env, 4 * MEMORY)'),
        f"{_HERE}::test_what_takes_memory_is_ended",
    ),
    defect(
        287,
        "one caller's conditions have both processes",
        Edit(_CHILDREN, "await stack.enter_async_context(turn)", "await asyncio.sleep(0)"),
        f"{_HERE}::test_nobody_holds_both_processes",
    ),
    defect(
        288,
        "the router evaluates the condition of a list by itself",
        Edit("router/operator/questions.py", "jobs=jobs, evaluator=self._evaluator)", "jobs=jobs)"),
        f"{_HERE}::test_what_takes_long_is_ended_and_delays_no_delivery",
    ),
    defect(
        289,
        "a process whose condition was ended is asked the next one",
        Edit(_CHILDREN, "self.spent = True  # unless it answers", "self.spent = False"),
        f"{_HERE}::test_what_takes_memory_is_ended",
    ),
    defect(
        371,
        "a process that was killed while it waited is asked the next condition",
        Edit(_CHILDREN, "while self._idle and self._idle[-1].child.exit.done():", "while False:"),
        f"{_HERE}::test_one_that_was_killed_while_it_waited_is_asked_nothing",
    ),
    defect(
        372,
        "a condition with a variable beyond 64 bits makes the router fail",
        Edit(
            _CHILDREN,
            "encode_json(request)",
            "encode_json(msgspec.msgpack.decode(msgspec.msgpack.encode(request)))",
        ),
        f"{_HERE}::test_one_that_was_killed_while_it_waited_is_asked_nothing",
    ),
    defect(
        373,
        "the router takes what a tried condition found, however much it is",
        Edit(
            "router/wiring/condition_child.py", "encode_json(value)[:SHOWN]", "encode_json(value)"
        ),
        f"{_HERE}::test_a_condition_is_tried_by_them_too",
    ),
    defect(
        374,
        "a store that does not answer is taken for a condition that takes long",
        Edit(
            _CHILDREN,
            "not isinstance(request, RulesGiven) and not self.child.stdout.tail()",
            "not isinstance(request, RulesGiven) and self.spent is None",
        ),
        f"{_HERE}::test_a_store_that_does_not_answer_is_not_taken_for_a_long_condition",
    ),
)
