"""Values put into payloads; `--set` has the cases of its own words."""

import pytest

from router.providers.changes import put, steps


def test_a_path_has_names_and_indexes() -> None:
    assert steps("a.b[0].c.1") == ("a", "b", 0, "c", "1")


@pytest.mark.parametrize("path", ["a..b", "a[x]", ".a", "a[", "a."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        steps(path)


def test_the_payload_given_is_left_alone() -> None:
    before = {"a": {"b": "1"}}
    assert put(before, "a.b", 2) == {"a": {"b": "2"}}
    assert before == {"a": {"b": "1"}}
