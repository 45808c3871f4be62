"""Times of records: RFC 3339 in JSON, and read back as the Unix milliseconds that they were."""

from typing import Any

import msgspec
import pytest

from router.errors import UsageError
from router.model.job import Attempt
from router.model.selector import Criteria
from router.operator.answers import OneJob
from router.operator.requests import ChangeRequest
from router.operator.times import dated, decoded
from tests.builders import a_job

AT = 1_772_368_200_250
TEXT = "2026-03-01T12:30:00.250Z"


def test_what_was_dated_is_read_back_as_it_was() -> None:
    """What a target answered may have names like ours, and texts that are times."""
    result = {"ended_at": TEXT, "at": AT}
    attempt = Attempt("job_1", 1, AT, AT + 5, "dead", None, result, "g")
    answer = OneJob(a_job(created_at=AT, ended_at=None), (attempt,))
    written = msgspec.json.encode(dated(answer))
    shown: Any = msgspec.json.decode(written)
    assert (shown["job"]["created_at"], shown["job"]["ended_at"]) == (TEXT, None)
    assert (shown["attempts"][0]["started_at"], shown["attempts"][0]["result"]) == (TEXT, result)
    assert decoded(written, OneJob) == answer


@pytest.mark.parametrize(("given", "read"), [(f'"{TEXT}"', AT), (str(AT), AT), ("null", None)])
def test_a_selector_takes_times_in_both_forms(given: str, read: int | None) -> None:
    asked = f'{{"selector": {{"since": {given}, "rule": "2026-03-01"}}}}'.encode()
    assert decoded(asked, ChangeRequest).selector == Criteria(since=read, rule="2026-03-01")


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(UsageError, match="is not a time"):
        decoded(b'{"selector": {"until": "next-week"}}', ChangeRequest)
