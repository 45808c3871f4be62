"""Defects of what must not be shown: secrets, and payloads to tokens without bodies."""

from tests.defects.defect import Edit, defect

_SECRETS = "unit/config/checks/test_secrets.py"

NEVER_SHOWN = (
    defect(
        231,
        "a line of the file is shown with the secret that stands in it",
        Edit(
            "router/yaml_source/source.py",
            "self._last = (number, without_secrets(text))",
            "self._last = (number, text)",
        ),
        f"{_SECRETS}::test_a_value_under_a_telling_name",
        f"{_SECRETS}::test_a_key_that_is_known_by_its_form",
    ),
    defect(
        232,
        "a secret that stands where its place should be named is shown",
        Edit(
            "router/yaml_source/source.py",
            "                if first <= start < last:\n",
            "                if first < start < first:\n",
        ),
        f"{_SECRETS}::test_a_value_in_place_of_where_it_comes_from_is_not_shown",
    ),
    defect(
        233,
        "a password is written into the answer that --fix would give",
        Edit(
            "router/yaml_source/source.py",
            'if "\\n" in old or without_secrets(hint.text) != hint.text:',
            'if "\\n" in old:',
        ),
        "unit/config/test_fixing.py::test_a_password_is_no_part_of_an_answer",
    ),
    defect(
        283,
        "a token that may not see payloads uses a condition on them in a verb",
        Edit(
            "router/web/admin/changes.py",
            'verbs.plan_change("cancel", data, request.by)',
            'verbs.plan_change("cancel", data)',
        ),
        "unit/web/admin/test_conditions.py::test_a_token_without_bodies_uses_no_condition_whatever_its_role",
    ),
    defect(
        284,
        "a page lists by a condition for a token that may not see payloads",
        Edit(
            "router/web/pages/context.py",
            "await ask(selector, cursor, self.request.by)",
            "await ask(selector, cursor, msgspec.structs.replace(self.request.by, bodies=True))",
        ),
        "unit/web/admin/test_conditions.py::test_nor_by_a_page_or_a_form",
    ),
)
