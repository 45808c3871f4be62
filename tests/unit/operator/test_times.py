"""Times of records: RFC 3339 in JSON, and read back as the Unix milliseconds that they were."""

from typing import Any

import msgspec
import pytest

from router.errors import UsageError
from router.model.fetched import Fetched
from router.model.job import Attempt
from router.operator.answers import OneJob, ReloadState, ServerState, StoreFile
from router.operator.requests import ChangeRequest
from router.operator.times import dated, undated
from tests.builders import a_job

AT = 1_772_368_200_250
TEXT = "2026-03-01T12:30:00.250Z"


def test_what_was_dated_is_read_back_as_it_was() -> None:
    """What a target answered may have names like ours, and texts that are times."""
    result = {"ended_at": TEXT, "at": AT}
    attempt = Attempt("job_1", 1, AT, AT + 5, "dead", None, result, "g")
    answer = OneJob(a_job(created_at=AT, ended_at=None), (attempt,))
    shown: Any = msgspec.json.decode(msgspec.json.encode(dated(answer)))
    assert (shown["job"]["created_at"], shown["job"]["ended_at"]) == (TEXT, None)
    assert (shown["attempts"][0]["started_at"], shown["attempts"][0]["result"]) == (TEXT, result)
    again = msgspec.convert(undated(shown, OneJob), OneJob)
    assert again == answer


@pytest.mark.parametrize(("given", "read"), [(TEXT, AT), (AT, AT), ("2h", "2h"), (None, None)])
def test_a_selector_takes_times_in_both_forms(given: object, read: object) -> None:
    asked = undated({"selector": {"since": given, "rule": "2026-03-01"}}, ChangeRequest)
    assert asked == {"selector": {"since": read, "rule": "2026-03-01"}}


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(UsageError, match="is not a time"):
        undated({"selector": {"until": "next-week"}}, ChangeRequest)


def test_records_by_name_are_read_back_too() -> None:
    fetched = {"https://a.example": Fetched("key set", 1000, 2000, "HTTP 500")}
    state = ServerState(
        "1", "g", 1, ["hook"], StoreFile("/x", 1), {}, ReloadState(), fetched=fetched
    )
    read = undated(msgspec.json.decode(msgspec.json.encode(dated(state))), ServerState)
    assert msgspec.convert(read, ServerState) == state
