"""A token in a body is removed before anything keeps the body; the rest stays byte for byte."""

import pytest

from router.model.delivery import InboundRequest
from router.providers import Provider
from tests.unit.providers.makers import a_definition, a_request

EACH = {"scheme": "token", "field": "state", "each": "value"}
ONE = {"scheme": "token", "field": "token"}
FORM = [("Content-Type", "application/x-www-form-urlencoded")]


def hidden(verify: dict[str, str], request: InboundRequest) -> bytes:
    return Provider(a_definition(verify=verify)).hidden(request).body


@pytest.mark.parametrize(
    ("verify", "body", "expected"),
    [
        (ONE, b'{ "token" : "s3cret","n": 1.50}', b'{ "token" : "[removed]","n": 1.50}'),
        (
            ONE,
            b'{"token":"s3cret","again":["s3cret"]}',
            b'{"token":"[removed]","again":["[removed]"]}',
        ),
        (ONE, b'{"token":"s3\\u0063ret"}', b"[removed]"),
        (ONE, b'{"other":"s3cret"}', b'{"other":"s3cret"}'),
        (ONE, b'{"token":null}', b'{"token":null}'),
        (ONE, b"not json", b"[removed]"),
        (ONE, b'{"token":"s3cret","x":"' + b"x" * 70_000 + b'"}', b"[removed]"),
        (
            EACH,
            b'{"value":[{"state":"a1"},{"state":"b2"}]}',
            b'{"value":[{"state":"[removed]"},{"state":"[removed]"}]}',
        ),
        (EACH, b'{"value":[]}', b"[removed]"),
    ],
)
def test_a_token_in_json(verify: dict[str, str], body: bytes, expected: bytes) -> None:
    assert hidden(verify, a_request(body=body)) == expected


def test_a_token_in_a_form() -> None:
    assert hidden(ONE, a_request(FORM, b"a=1&token=s3cret&b=%20")) == b"a=1&token=[removed]&b=%20"
