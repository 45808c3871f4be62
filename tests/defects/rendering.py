"""Defects of what an action renders once, for every delivery."""

from tests.defects.defect import Edit, defect

RENDERING = (
    defect(
        115,
        "what an expression reads without naming it does not count: now(), the scope itself",
        Edit(
            "router/expressions/expression.py",
            "        return self.names.roots | self.names.unnamed\n",
            "        return self.names.roots\n",
        ),
        "unit/rules/test_render.py::test_what_is_read_without_a_name_is_read_anew_for_each_delivery",
        "unit/rules/test_render.py::test_now_is_when_the_delivery_was_received",
        "unit/dispatch/test_rules_port.py::test_an_action_that_reads_the_payload_gets_it_parsed",
    ),
)
