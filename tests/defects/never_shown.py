"""Defects of what must be neither shown nor written down: secrets, and values of persons."""

from tests.defects.defect import Edit, defect

_SECRETS = "unit/config/checks/test_secrets.py"
_OBSERVED = "unit/typing/test_observed.py"

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
        234,
        "what a person is called is learned as the name of a state",
        Edit(
            "router/typing/observed.py",
            "if not is_state or not _WORD.fullmatch(text):",
            "if not _WORD.fullmatch(text):",
        ),
        f"{_OBSERVED}::test_a_name_of_somebody_is_no_state",
        f"{_OBSERVED}::test_no_value_of_a_person_is_written",
    ),
    defect(
        235,
        "what is said of a person is learned as the name of a state",
        Edit("router/typing/observed.py", "if words and not below_person and ", "if words and "),
        f"{_OBSERVED}::test_a_name_of_somebody_is_no_state",
        f"{_OBSERVED}::test_no_value_of_a_person_is_written",
    ),
    defect(
        236,
        "a word that came once is learned",
        Edit(
            "router/typing/observed.py",
            "min(words.values()) >= SEEN_MIN:",
            "min(words.values()) >= 1:",
        ),
        f"{_OBSERVED}::test_a_few_names_of_states_are_known_values",
    ),
)
