"""Shapes: how they are written, what is wrong with them, and the samples they must fit."""

import re
from typing import Any

import pytest

from router.expressions import compile as compiled
from router.providers import builtin
from router.typing.infer import value_type
from router.typing.lattice import (
    ABSENT,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Type,
    closed_object,
)
from router.typing.shapes import parse_shapes
from tests.acceptance.process import ROOT
from tests.misfits import misfit

PROVIDERS = ("commerce", "email", "code-host", "stripe", "slack", "gitlab")
SHAPED = [
    (provider, event.name)
    for provider in PROVIDERS
    for event in builtin()[provider].events
    if builtin()[provider].shapes.payload(event.name) is not None
]
UNDOCUMENTED = {
    "finance_app_staff_member/delete",
    "finance_app_staff_member/grant",
    "finance_app_staff_member/revoke",
    "finance_app_staff_member/update",
    "finance_kyc_information/update",
    "returns/process",
    "shipping_addresses/create",
    "shipping_addresses/update",
}
"""Topics whose documented example is empty."""
INTERFACE = [
    ("commerce", "orders/create", "line_items[].price_set.shop_money.amount", "money"),
    ("commerce", "orders/create", "customer.email", "email"),
    ("commerce", "orders/create", "current_subtotal_price", "money"),
    ("commerce", "products/update", "tags", "joined"),
    ("commerce", "products/update", "images[].src", "url"),
    ("commerce", "customers/create", "total_spent", "money"),
    ("commerce", "customers/create", "addresses[].zip", None),
    ("email", "click", "url", "url"),
    ("email", "bounce", "bounce_classification", None),
    ("code-host", "push", "commits[].timestamp", "timestamp"),
    ("code-host", "pull_request", "pull_request.head.sha", "git_sha"),
    ("code-host", "workflow_run", "workflow_run.conclusion", None),
]


def payload(fields: Any, **more: Any) -> Type:
    found = parse_shapes({"payloads": [{"for": "e", "fields": fields}], **more}).payload("e")
    assert found is not None
    return found


@pytest.mark.parametrize(("provider", "event"), SHAPED)
def test_every_sample_fits_its_shape(provider: str, event: str) -> None:
    found = builtin()[provider]
    shape, sample = found.shapes.payload(event), found.sample(event)
    assert shape is not None
    assert misfit(shape, sample) is None


@pytest.mark.parametrize(("provider", "event"), SHAPED)
def test_every_field_of_a_sample_is_in_its_shape(provider: str, event: str) -> None:
    found = builtin()[provider]
    shape = found.shapes.payload(event)
    assert shape is not None
    roots = closed_object({"payload": shape}, label="roots")
    for path in _paths(found.sample(event), "payload"):
        _, run = value_type(compiled(path), roots)
        assert run.findings == [], path


def _paths(value: Any, path: str) -> list[str]:
    if isinstance(value, dict):
        below = [_paths(one, f'{path}."{name}"') for name, one in value.items()]
        return [path, *(deep for one in below for deep in one)]
    if isinstance(value, list) and value:
        return [path, *_paths(value[0], f"{path}[0]")]
    return [path]


@pytest.mark.parametrize(("provider", "event", "path", "form"), INTERFACE)
def test_the_tables_of_the_interface_are_there(
    provider: str, event: str, path: str, form: str | None
) -> None:
    kind = builtin()[provider].shapes.payload(event)
    for name in re.findall(r"[a-z_0-9]+|\[\]", path):
        assert kind is not None
        kind = kind.item if name == "[]" else kind.fields[name]
    assert kind is not None
    assert kind.kinds & TEXT
    assert kind.format == form


def test_what_only_some_events_have_is_not_in_the_shapes_of_others() -> None:
    shapes = builtin()["email"].shapes
    has = {
        event: set(kind.fields)
        for event in ("processed", "delivered", "open", "click", "bounce")
        if (kind := shapes.payload(event)) is not None
    }
    assert [e for e, fields in has.items() if "url_offset" in fields] == ["click"]
    assert [e for e, fields in has.items() if "bounce_classification" in fields] == ["bounce"]
    assert [e for e, fields in has.items() if "response" in fields] == ["delivered"]
    assert [e for e, fields in has.items() if "useragent" in fields] == ["open", "click"]


def test_nothing_is_known_of_events_without_a_table() -> None:
    assert builtin()["stripe"].shapes.payload("payout.eaten") is None
    assert builtin()["code-host"].shapes.payload("door_opened") is None


@pytest.mark.parametrize("provider", ["commerce", "email", "code-host", "stripe"])
def test_every_event_of_the_catalogue_has_a_shape(provider: str) -> None:
    found = builtin()[provider]
    bare = [e.name for e in found.events if found.shapes.payload(e.name) is None]
    assert [name for name in bare if name not in UNDOCUMENTED] == []


# -- how they are written


def test_any_field_of_an_open_object_may_be_null_or_missing_but_only_some_say_so() -> None:
    fields = payload({"a": "string", "b": "string or null", "c?": "integer"}).fields
    assert fields["a"].kinds == TEXT | NOTHING
    assert not fields["a"].stated
    assert fields["b"].stated
    assert fields["c"].kinds == NUMBER | NULL | ABSENT
    assert fields["c"].stated


def test_a_closed_object_has_what_it_says_and_nothing_else() -> None:
    shape = {"fields": {"a": "string", "b?": "string"}, "closed": True}
    inner = payload({"x": shape}).fields["x"]
    assert inner.rest is None
    assert inner.fields["a"].kinds == TEXT
    assert inner.fields["b"].kinds == TEXT | ABSENT


def test_lists_pieces_words_and_maps() -> None:
    fields = payload(
        {
            "list": ["money"],
            "piece": "person",
            "values": {"values": ["a", None]},
            "known": {"known": ["a"], "type": "null"},
            "map": {"rest": "string"},
            "items": {"items": "integer"},
        },
        types={"person": {"fields": {"email": "email"}}},
    ).fields
    assert fields["list"].item is not None
    assert fields["list"].item.format == "money"
    assert fields["piece"].fields["email"].format == "email"
    assert fields["values"].texts == {"a"}
    assert fields["values"].stated
    assert fields["known"].known == {"a"}
    assert fields["known"].texts is None
    assert fields["map"].kinds & OBJECT
    assert fields["items"].kinds & LIST


def test_the_first_entry_that_fits_an_event_counts() -> None:
    shapes = parse_shapes(
        {
            "payloads": [
                {"for": ["a/x", "b"], "fields": {"one": "string"}},
                {"for": "a/*", "fields": {"two": "string"}},
            ]
        }
    )
    found = {name: shapes.payload(name) for name in ("a/x", "a/y", "b", "c")}
    assert [set(kind.fields) if kind else None for kind in found.values()] == [
        {"one"},
        {"two"},
        {"one"},
        None,
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "`shapes` is a mapping"),
        ({"payload": []}, "`shapes.payload` is an unknown key"),
        ({"payloads": [{"fields": {}}]}, "`shapes.payloads[0].for` is an event's name"),
        (
            {"payloads": [{"for": "e", "items": "x"}]},
            "`shapes.payloads[0].items` is an unknown key",
        ),
        ({"payloads": [{"for": "e", "fields": {"a": "strin"}}]}, "unknown type 'strin'"),
        ({"payloads": [{"for": "e", "fields": {"a": ["x", "y"]}}]}, "the one shape"),
        (
            {"payloads": [{"for": "e", "fields": {"a": 3}}]},
            "`shapes.payloads[0].fields.a` is no shape",
        ),
        ({"payloads": [{"for": "e", "fields": []}]} | {"types": 3}, "`shapes.types` is a mapping"),
        ({"payloads": [{"for": "e", "closed": "no"}]}, "closed` is true or false"),
        ({"payloads": [{"for": "e", "fields": {"a": {"values": "x"}}}]}, "a list of texts"),
        ({"types": {"a": "b", "b": "a"}}, "contains itself"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_shapes(data)


def test_a_long_chain_of_pieces_is_refused_not_followed() -> None:
    chain = {f"p{n}": {"fields": {"a": f"p{n + 1}"}} for n in range(2_000)} | {"p2000": "string"}
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_shapes({"types": chain})


def example_texts() -> str:
    # Other senders' `country` may be a code.
    examples = (p for p in (ROOT / "tests/golden").rglob("*.yaml") if p.parent.name != "ok")
    pages = (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "rules.example.yaml")
    return "\n".join(path.read_text("utf-8") for path in (*pages, *examples))


def test_no_example_takes_the_name_of_a_country_for_its_code() -> None:
    texts = example_texts()
    assert re.findall(r"address\.country\b.*", texts) == []
    assert "shipping_address.country_code != 'US'" in texts


def test_fields_that_rules_of_the_docs_read_are_known() -> None:
    known = {"test", "total_price", "currency", "browser_ip", "note", "tags", "total_weight"}
    used = set(re.findall(r"payload\.([a-z_]+)", example_texts()))
    order = builtin()["commerce"].shapes.payload("orders/paid")
    assert order is not None
    assert used & known <= set(order.fields)
