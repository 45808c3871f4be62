"""The fields of an event: as the rule language writes them, bounded."""

from router.expressions import compile as compiled
from router.web.pages.fields import FIELDS_MAX, fields_of

SCOPE = {
    "payload": {
        "id": 7,
        'odd "name"\n': {"é": True},
        "items": [{"sku": "A"}, {"sku": "B"}],
        "none": None,
        "empty": [],
    },
    "event": "orders/paid",
    "action": None,
    "branch": "main",
    "headers": {"x-tier": "gold"},
    "var": {"secret": 1},
}


def test_each_path_gives_its_value() -> None:
    fields = fields_of(SCOPE)
    assert [f.value for f in fields] == [compiled(f.path).search(SCOPE) for f in fields]
    assert [f.path for f in fields] == [
        "payload.id",
        r'payload."odd \"name\"\n"."\u00e9"',
        "length(payload.items)",
        "payload.items[0].sku",
        "payload.none",
        "payload.empty",
        "event",
        'headers."x-tier"',
        "branch",
    ]


def test_there_is_an_end() -> None:
    wide = {"payload": {f"f{n}": n for n in range(FIELDS_MAX + 1)}}
    assert len(fields_of(wide)) == FIELDS_MAX
    deep: object = 1
    for _ in range(5_000):
        deep = {"a": deep}
    assert len(fields_of({"payload": deep})) == 1
