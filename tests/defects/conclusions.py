"""Defects that lead to a wrong conclusion: keys without parts, lists, states, addresses, types."""

from tests.defects.defect import Edit, defect

CONCLUSIONS = (
    defect(
        340,
        "a dedupe key that lacks one of its parts is a key",
        Edit("router/expressions/verdict.py", "(VALUE, whole=True)", "(VALUE, whole=False)"),
        "docs/test_deviations.py::test_key_reading",
        "docs/test_concepts.py::test_what_a_page_shows_passes",
    ),
    defect(
        341,
        "a group is told to take turns although its definition lacks a part",
        Edit("router/expressions/definitions.py", "scope, keys=True)", "scope, keys=False)"),
        "docs/test_deviations.py::test_key_reading",
    ),
    defect(
        342,
        "a documented field of a result is called unknown",
        Edit("router/kinds/shell.py", '"stderr": "text", ', ""),
        "docs/test_chains_page.py::test_check_knows_the_results_that_the_page_lists_and_no_others",
    ),
    defect(
        343,
        "an event that a sender's users name is called unknown",
        Edit(
            "router/providers/provider.py", "any(wildcard(one, event) for", "any(one == event for"
        ),
        "docs/test_providers_page.py::test_what_a_page_says_to_send_runs_its_rule",
        "unit/cli/test_doctor.py::test_an_event_that_users_name_is_to_be_selected",
    ),
    defect(
        344,
        "the addresses for senders have another port than the router listens on",
        Edit("router/model/settings.py", "local_url(self.listen, tls", 'local_url(":8000", tls'),
        "unit/config/test_loading.py::test_the_address_of_senders_follows_the_listener",
        "unit/cli/test_listings.py::test_addresses_that_no_sender_could_call_are_called_so",
    ),
    defect(
        345,
        "a command that only fails is listed as healthy",
        Edit("router/dispatch/breakers.py", "None if own.breaker or answered", "None if True"),
        "unit/dispatch/test_breakers.py::"
        "test_what_has_no_breaker_and_only_fails_is_listed_as_failing_and_called_all_the_same",
    ),
    defect(
        346,
        "a router that was killed needs no attention",
        Edit("router/operator/node_rows.py", '"lost": node.gone and', '"lost": node.closed and'),
        "unit/operator/test_node_rows.py::"
        "test_a_router_that_nobody_stopped_is_lost_until_another_runs_in_its_place",
    ),
    defect(
        347,
        "a router that was stopped is called lost",
        Edit(
            "router/serving/nodes.py",
            "            await self._store.beat(self.node, self._card())\n",
            "",
        ),
        "unit/serving/test_nodes.py::test_who_leaves_is_gone_with_the_word_that_it_was_stopped",
    ),
    defect(
        348,
        "the default of an environment variable decides whether it is a text",
        Edit(
            "router/config/settings.py",
            "value if default is None or value is None else default.value",
            "value",
        ),
        "unit/config/test_loading.py::"
        "test_a_variable_of_the_environment_is_a_text_unless_it_is_to_be_a_number",
    ),
    defect(
        349,
        "the words true, false and null in a list are names of fields",
        Edit(
            "router/expressions/parse.py",
            "tuple(map(_literal_word, made.children))",
            "made.children",
        ),
        "docs/test_deviations.py::test_value_reading",
    ),
)
