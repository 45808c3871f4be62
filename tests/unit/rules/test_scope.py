"""What rules see of a request."""

import pytest

from router.rules.scope import ROOTS, delivery_roots, event_scope
from tests.builders import a_delivery, an_event


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/hooks/api", "/hooks/api"),
        ("/", "/"),
        ("/base/hooks/%C3%A9", "/base/hooks/%C3%A9"),
        ("/wh_8c1f0e7a5b6d4c3e", None),
        ("/base/wh_8c1f0e7a5b6d4c3e", None),
        ("", None),
    ],
)
def test_a_path_is_seen_and_an_id_is_not(path: str, seen: str | None) -> None:
    assert delivery_roots(a_delivery(path=path), {})["path"] == seen


def test_every_event_has_the_names_that_are_promised() -> None:
    delivery = a_delivery()
    scope = event_scope(delivery_roots(delivery, {}), delivery, an_event(), {})
    assert ROOTS - {"def"} <= set(scope)  # definitions are there if the file has some
