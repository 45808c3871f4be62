"""Query strings: nothing that is not known, and the one selector."""

import pytest

from router.errors import UsageError
from router.store.values import Selector
from router.web.admin.query import (
    CURSOR,
    DELIVERY_STATES,
    FIELDS_MAX,
    LIMIT,
    SELECTOR,
    STATE,
    VAR,
    WHERE,
    Query,
)
from tests.clocks import START_MS

ALL = (*SELECTOR, STATE, WHERE, VAR, LIMIT, CURSOR)


def ask(text: str) -> Query:
    return Query(text.encode("latin-1"), ALL, START_MS)


def test_the_selector_takes_every_parameter() -> None:
    query = ask(
        "id=dlv_12345678,job_12345678&endpoint=shop&rule=paid&event=orders%2Fpaid&state=dead"
        "&since=2h&until=1750000000000&where=payload.id%20%3D%3D%20var.id&var=%7B%22id%22%3A1%7D&replay=r&cause=c&limit=7"
    )
    assert query.selector(DELIVERY_STATES) == Selector(
        ids=("dlv_12345678", "job_12345678"),
        endpoint="shop",
        rule="paid",
        event="orders/paid",
        state="dead",
        since=START_MS - 7_200_000,
        until=START_MS,
        where="payload.id == var.id",
        var={"id": 1},
        replay="r",
        cause="c",
        limit=7,
    )
    assert ask("").selector() == Selector(limit=50)
    assert ask("limit=9999&rule=").selector() == Selector(limit=500)


def test_an_id_may_be_given_again_as_boxes_of_a_form_are() -> None:
    asked = "&".join(f"id=dlv_{n:04d}" for n in range(500))
    assert len(ask(asked).selector().ids) == 500


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("limt=1", "no parameter 'limt'; did you mean 'limit'?"),
        ("token=x", "no parameter 'token'; known are: id, endpoint"),
        ("limit=1&limit=2", "limit is given twice"),
        ("limit=-1", "limit is a whole number"),
        ("limit=1e3", "limit is a whole number"),
        ("limit=%D9%A3", "limit is a whole number"),
        ("state=ded", "no state 'ded'; did you mean 'dead'?"),
        ("state=%0d%0a", "no state '\\r\\n'; known are: "),
        ("since=yesterday", "'yesterday' is not a time"),
        ("since=1h&until=2h", "swap them"),
        ("var=id", "var is a JSON object"),
        ("var=[1]", "var is a JSON object"),
        ("rule=%ff", "malformed"),
        ("rule=\xe4", "malformed"),
        ("&".join(["id=a"] * (FIELDS_MAX + 1)), "malformed"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, reported: str) -> None:
    with pytest.raises(UsageError) as error:
        ask(text).selector(DELIVERY_STATES)
    assert reported in str(error.value)
