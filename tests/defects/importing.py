"""Hooks of adnanh/webhook: what proves their senders, and what of it may be seen."""

from tests.defects.defect import Edit, defect

_HOOKS = "unit/cli/importing/test_webhook.py"
_TOKENS = f"{_HOOKS}::test_a_fixed_value_of_a_header_or_query_is_a_token_and_the_rest_is_listed"
IMPORTING = (
    defect(
        324,
        "a token is known by its name alone, and other hooks are open",
        Edit(
            "router/cli/importing/sender.py",
            "bool(_PLACE.fullmatch(parameter.name)) and not told",
            "named(parameter)",
        ),
        _TOKENS,
    ),
    defect(
        325,
        "a comparison that may be of a secret stands in the rules",
        Edit(
            "router/cli/importing/sender.py",
            "named(leaf.parameter) or (_may_prove(leaf) and not signed and not short)",
            "named(leaf.parameter)",
        ),
        _TOKENS,
    ),
    defect(
        326,
        "a hook that anybody may run is no fault of an import",
        Edit(
            "router/cli/import_rules.py",
            'if one.severity == "error" or one.code == UNSIGNED}',
            'if one.severity == "error"}',
        ),
        "unit/cli/test_import_rules.py::test_a_hook_that_is_lost_or_open_makes_the_exit_code_1",
    ),
    defect(
        327,
        "what strangers send to an open hook is kept for a week",
        Edit(
            "router/cli/importing/webhook.py",
            '{"verify": "none", "retention": {"unmatched": "0s"}}',
            '{"verify": "none"}',
        ),
        _TOKENS,
    ),
)
