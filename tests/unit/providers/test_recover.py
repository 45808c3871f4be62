"""The `recover:` of a definition, and what is read of a sender's list."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.providers import builtin
from router.providers.management import BadAnswerError
from router.providers.missed import read_hook_id, read_page
from router.providers.recover import RecoverRule, problems


def rule(name: str) -> RecoverRule:
    api = builtin()[name].definition.api
    assert api is not None
    assert api.recover is not None
    return api.recover


def changed(**keys: Any) -> list[str]:
    return list(problems(msgspec.structs.replace(rule("github"), **keys)))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"body": "@"}, "either `redeliver` or `body`"),
        ({"redeliver": None}, "either `redeliver` or `body`"),
        ({"redeliver": "{hook}/again"}, "`api.recover.redeliver` has {id}"),
        ({"place": "last_id"}, "goes with `place: last_id`"),
        ({"more": "has_more"}, "goes with `place: last_id`"),
        ({"keeps": "3 days"}, "a time like '3d'"),
        ({"per_s": 0}, "`api.recover.per_s` is above zero"),
        ({"hook_address": None}, "goes with a hook that ends in {id}"),
        ({"list": "/v1/x"}, "`api.recover.list` has {hook}"),
        ({"list": "{hook}/{page}"}, "`api.recover.list` has {hook}"),
        ({"list": "{hook}v1 x"}, "is a path like '/v1/events'"),
    ],
)
def test_what_contradicts_itself(keys: dict[str, Any], words: str) -> None:
    assert any(words in text for text in changed(**keys)), changed(**keys)


def test_the_built_in_ones_do_not() -> None:
    assert changed() == list(problems(rule("stripe"))) == list(problems(None)) == []


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("repos/octo/site/hooks/7", "/repos/octo/site/hooks/7"),
        ("/repos/octo/site/hooks/", "/repos/octo/site/hooks/{id}"),
        ("orgs/octo/hooks", "/orgs/octo/hooks/{id}"),
        ("app/hook", "/app/hook"),
        ("app/hook/7", None),
        ("repos/octo/hooks", None),
        ("repos/octo/../hooks/7", None),
        ("repos/octo/site/hooks/7?x=1", None),
        ("repos/octo/site/hooks/{id}", None),
        ("", None),
    ],
)
def test_the_hook_that_an_endpoint_names(written: str, path: str | None) -> None:
    assert rule("github").hook_at(written) == path


ITEM = {"id": 1, "guid": "g", "delivered_at": "2024-01-01T00:00:00Z", "status": "OK"}


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"id": True}, False),
        ({"id": ""}, False),
        ({"guid": None}, False),
        ({"delivered_at": "2024-01-01T00:00:00"}, False),
        ({"delivered_at": 5}, False),
        ({"delivered_at": "9999-99-99"}, False),
        ({"status": None}, True),
        ({"event": {"deep": []}}, True),
    ],
)
def test_a_list_is_read_whole_or_not_at_all(change: dict[str, Any], good: bool) -> None:
    body = msgspec.json.encode([ITEM, ITEM | change])
    if not good:
        with pytest.raises(BadAnswerError):
            read_page(rule("github"), body, None)
        return
    page = read_page(rule("github"), body, None)
    assert [item.delivered for item in page.items] == [True, change.get("status", "OK") == "OK"]
    assert page.items[0].at == 1_704_067_200_000


def test_what_is_fetched_keeps_its_bytes() -> None:
    body = b'{"has_more": true, "data": [{ "id":"evt_1",  "created": 5, "n": 1.50 }]}'
    page = read_page(rule("stripe"), body, None)
    assert page.items[0].body == b'{ "id":"evt_1",  "created": 5, "n": 1.50 }'
    assert page.next == "evt_1"


@pytest.mark.parametrize("odd", [b'"\xff"', b"1" + b"0" * 400, b"-1e300"])
def test_an_item_that_cannot_be_told_is_no_answer(odd: bytes) -> None:
    body = b'{"has_more": true, "data": [{"id": "evt_1", "created": %b}]}' % odd
    with pytest.raises(BadAnswerError):
        read_page(rule("stripe"), body, None)


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(msgspec.json.encode),
    st.none() | st.text(max_size=80),
)
@pytest.mark.parametrize("name", ["github", "stripe"])
def test_any_answer_is_a_page_or_said_to_be_none(name: str, body: bytes, link: str | None) -> None:
    for read in (
        lambda: read_page(rule(name), body, link),
        lambda: read_hook_id(rule(name), body, ()),
    ):
        try:
            read()
        except BadAnswerError:
            continue
        assert msgspec.json.decode(body) is not None
