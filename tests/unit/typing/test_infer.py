"""What expressions may give, and what is said of them, for one small shape."""

import pytest

from router.expressions import compile as compiled
from router.typing.infer import value_type
from router.typing.lattice import (
    ABSENT,
    ANY,
    BOOLEAN_TYPE,
    FALSE,
    FAULT,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    NUMBER_TYPE,
    OBJECT,
    TEXT,
    TEXT_TYPE,
    TRUE,
    Type,
    closed_object,
    constant,
    elements,
    list_of,
    open_object,
)
from router.typing.run import TypeFinding
from tests.verdict_bits import verdict_bits

ITEM = open_object({"sku": TEXT_TYPE, "count": NUMBER_TYPE, "tags": list_of(TEXT_TYPE)})
PAYLOAD = open_object(
    {
        "name": TEXT_TYPE,
        "price": Type(TEXT, format="money"),
        "count": NUMBER_TYPE,
        "flag": BOOLEAN_TYPE,
        "note": Type(TEXT | NULL, stated=True),
        "person": Type(OBJECT | NOTHING, fields={"email": TEXT_TYPE}, rest=ANY, stated=True),
        "items": list_of(ITEM),
        "state": Type(TEXT, known=frozenset({"open", "closed"})),
    }
)
ROOTS = closed_object({"payload": PAYLOAD, "event": constant("made")}, label="roots")


def codes(text: str) -> list[str]:
    return [finding.code for finding in findings(text)]


def findings(text: str) -> list[TypeFinding]:
    return verdict_bits(compiled(text), ROOTS)[1].findings


def kinds(text: str) -> int:
    return value_type(compiled(text), ROOTS)[0].kinds


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("payload.name", TEXT),
        ("payload.person.email", TEXT | ABSENT),
        ("payload.items[0].count", NUMBER | ABSENT),
        ("payload.items[].sku", LIST),
        ("payload.name == 'x'", TRUE | FALSE),
        ("payload.count > 3", TRUE | FALSE | NULL),
        ("payload.name || 'x'", TEXT),
        ("payload.note || 'x'", TEXT),
        ("payload.note && 'x'", TEXT | NULL),
        ("payload.flag && payload.count", FALSE | NUMBER),
        ("!payload.name", TRUE | FALSE),
        ("{a: payload.note}", OBJECT),
        ("[payload.note]", LIST),
        ("default(payload.note, 'x')", TEXT),
        ("exists(payload.name)", TRUE),
        ("decimal(payload.price)", NUMBER | FAULT),
        ("lower(payload.note)", TEXT | NULL | FAULT),
        ("to_number(payload.price)", NUMBER | NULL | FAULT),
        ("max(payload.items[].count)", NUMBER | NULL | FAULT),
        ("if(payload.flag, payload.name, payload.count)", TEXT | NUMBER),
        ("payload.items | [0]", OBJECT | ABSENT),
        ("payload.items[?count > `3`] | [0].sku", TEXT | ABSENT | FAULT),
        ("payload.items[].tags[]", LIST),
        ("payload.items[1:]", LIST),
        ("event", TEXT),
        ("`[1]`", LIST),
    ],
)
def test_what_an_expression_may_give(text: str, wanted: int) -> None:
    assert kinds(text) == wanted


def test_elements_of_projections_are_typed() -> None:
    for text, wanted in (
        ("payload.items[].sku", TEXT),
        ("payload.items[].tags[]", TEXT),
        ("payload.items[?sku == 'x'].count", NUMBER),
        ("map(&count, payload.items)", NUMBER),
        ("split(payload.name, ',')", TEXT),
        ("payload.items[].{a: sku}", OBJECT),
    ):
        assert elements(value_type(compiled(text), ROOTS)[0]).kinds == wanted, text


@pytest.mark.parametrize(
    "text",
    [
        "payload.name == 'x' && payload.count > 3",
        "payload.note != null && contains(payload.note, 'x')",
        "payload.note && starts_with(payload.note, 'x')",
        "payload.note == null || contains(payload.note, 'x')",
        "!payload.note || contains(payload.note, 'x')",
        "payload.person && contains(payload.person.email, '@')",
        "payload.person.email != null && contains(payload.person.email, '@')",
        "exists(payload.person.email) && payload.person.email != ''",
        "if(payload.note, contains(payload.note, 'x'), payload.flag)",
        "payload.items[?contains(tags, 'x')]",
        "payload.items[?count > $.payload.count]",
        "sort_by(payload.items, &count)[0].sku == 'x'",
        "payload.state == 'open'",
        'contains(`["open", "closed"]`, payload.state)',
        "payload.flag",
        "payload.flag == true",
        "sum(payload.items[].count) >= 3",
        "payload.items[].{code: sku} | [0].code == 'x'",
        "lookup(payload.person, 'email') == 'x'",
        # what stands in its place
        "payload.name == 'a' || payload.flag",
        "payload.name == (payload.note || 'b')",
        "matches(payload.name, '/^a|b/')",
        "matches(payload.name, '(?m)/^a')",
        "matches(payload.name, '/api/')",
        "matches(payload.name, '^/api/$')",
        "contains(['a', 'b'], payload.name)",
        "default(payload.note, 'x') == 'y'",
        "join(',', payload.items[].sku) == 'x'",
        "replace(payload.name, '-', '') == 'x'",
        "any_glob(payload.items[].tags[], 'a*')",
    ],
)
def test_nothing_is_said_of_what_is_right(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("payload.weight == 'x'", "unknown-field"),
        ("payload.person.emial == 'x'", "misspelt-field"),
        ("payload.items[].{code: sku} | [0].cod == 'x'", "unknown-name"),
        ("payload.items.sku == 'x'", "field-of-list"),
        ("payload.name.first == 'x'", "field-of-value"),
        ("payload.name[0] == 'x'", "not-a-list"),
        ("payload.count.* == 'x'", "not-a-list"),
        ("payload.price > 3", "text-as-number"),
        ("payload.count == '3'", "text-as-number"),
        ("payload.price < payload.name", "never-ordered"),
        ("payload.flag > 3", "never-ordered"),
        ("payload.flag == 'true'", "never-equal"),
        ("payload.items == 'x'", "never-equal"),
        ("contains(payload.items, 'x')", "never-equal"),
        ("contains(payload.name, `3`)", "never-equal"),
        ("payload.state == 'opne'", "misspelt-value"),
        ("payload.state == 'lost'", "value-not-known"),
        ("contains(payload.note, 'x')", "nullable-argument"),
        ("abs(payload.name) > 3", "text-as-number"),
        ("upper(payload.count) == 'X'", "wrong-argument"),
        ("payload.count", "number-as-condition"),
        ("payload.items[?count]", "number-as-condition"),
        ("!payload.name == 'x'", "not-before-comparison"),
        ("payload.items[?payload.flag]", "root-in-filter"),
        ("payload.other[?payload.flag]", "root-in-filter"),
        ('payload.items[?sku == "x"]', "bare-word"),
        ("payload.items[?sku == xyz]", "bare-word"),
        ("event == 'sold'", "never-true"),
        ("event == 'made'", "always-true"),
        ("`1` == `1`", "always-true"),
        ("payload.state == 'open' && payload.state == 'closed'", "never-true"),
        ("any_glob(payload.items, 'a*')", "wrong-argument"),
        ("any_glob(payload.name, 'a*')", "wrong-argument"),
    ],
)
def test_what_is_said_of_what_is_wrong(text: str, wanted: str) -> None:
    found = [code for code in codes(text) if code != "unknown-field" or wanted == code]
    assert found == [wanted]


def test_a_known_value_that_begins_alike_is_a_hint_and_the_nearest_come_first() -> None:
    (found,) = findings("payload.state == 'closing'")
    assert (found.code, found.severity) == ("value-not-known", "warning")
    assert found.hint == "did you mean 'closed'? known values: 'closed', 'open'"


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("payload.name == 'a' || 'b'", "always-true", "write payload.name == 'b'"),
        ("join(payload.items[].sku, ',') == 'x'", "wrong-argument", None),
        ("matches(payload.name, '/^a/')", "never-true", "leave out the slashes: '^a'"),
        ("matches(payload.name, 'a$/i')", "never-true", "leave out the slashes: 'a$'"),
        ("contains(['made', 'sold'], event)", "always-true", None),
        ("!contains(['lost', 'sold'], event)", "never-true", None),
    ],
)
def test_what_is_in_the_wrong_place_is_said(text: str, code: str, hint: str | None) -> None:
    found = findings(text)[0]
    assert found.code == code
    assert found.hint == hint if hint is None else (found.hint or "").startswith(hint)


def test_a_finding_stands_where_the_fault_is() -> None:
    text = "payload.flag && payload.items[?skku == 'x']"
    (finding,) = findings(text)
    assert text[finding.start : finding.end] == "skku"
    assert finding.hint == "did you mean 'sku'?"


def test_the_mend_is_written_out() -> None:
    for text, mend in (
        ("payload.price > 3", "write decimal(payload.price) > 3"),
        ("3 < payload.price", "write 3 < decimal(payload.price)"),
        ("payload.flag == 'true'", "write true without quotes"),
        ("!payload.name == 'x'", "write payload.name != 'x'"),
        ("payload.count == '3'", "write payload.count == 3"),
        ("payload.items.sku", "for the 'sku' of every element write payload.items[].sku"),
        ("payload.email == 'x'", "did you mean payload.person.email?"),
        ("payload.person_email == 'x'", "did you mean payload.person.email?"),
        ("payload.items[?price == 'x']", "did you mean $.payload.price?"),
        ("payload.name.email == 'x'", "did you mean payload.person.email?"),
        ("payload.emial == 'x'", "did you mean payload.person.email?"),
        ("payload.event == 'x'", "did you mean event, without payload?"),
        ("event.name == 'x'", "a field of the event is written payload.name"),
        ("payload.items.length > 3", "write length(payload.items)"),
        ("payload.name | upper == 'X'", "write upper(payload.name)"),
        (
            "payload.items[?sku == 'x'][0].sku == 'x'",
            "write payload.items[?sku == 'x'] | [0] to read it of all of them",
        ),
        (
            "payload.items[*].sku[-1] == 'x'",
            "write payload.items[*].sku | [-1] to read it of all of them",
        ),
        # What counts instead is the reader's to say.
        ("contains(payload.note, 'x')", "give a fallback: default(payload.note, …)"),
    ):
        assert findings(text)[-1].hint == mend


def test_after_a_mistake_the_neighbours_are_still_looked_at() -> None:
    assert codes("payload.price > 3 && payload.flag == 'x'") == ["text-as-number", "never-equal"]


def test_a_verdict_says_what_it_can_be() -> None:
    for text, wanted in (
        ("payload.name == 'x'", TRUE | FALSE),
        ("payload.person.email == 'x'", TRUE | FALSE | FAULT),
        ("payload.person.email == null", TRUE | FALSE),
        ("event == 'sold'", FALSE),
        ("event == 'made'", TRUE),
        ("event == 'sold' && payload.nothing.here", FALSE),
        ("event == 'made' || payload.nothing.here", TRUE),
        ("payload.price > 3", FAULT),
    ):
        assert verdict_bits(compiled(text), ROOTS)[0] == wanted, text


def test_what_a_pattern_captures_is_known() -> None:
    assert kinds("capture(payload.name, 'a(b)')") == TEXT | NULL | FAULT
    assert kinds("capture(payload.name, '(?P<a>b)').a") & TEXT
    [found] = findings("capture(payload.name, '(?P<major>[0-9]+)').majr == '1'")
    assert (found.code, found.hint) == ("unknown-name", "did you mean 'major'?")
    assert codes("capture(payload.name, '[0-9]+') > 3") == ["text-as-number"]


@pytest.mark.parametrize(
    "pattern",
    ["^v", "v1$", r"v\d", "v[0-9]", "(a|b)", "v.+", ".*fix.*", "refs/.*/x", "release/.*$"],
)
def test_a_regular_expression_is_no_glob(pattern: str) -> None:
    [found] = findings(f"glob(payload.name, '{pattern}')")
    assert found.code == "regex-in-glob"
    assert found.hint == f"write matches(payload.name, '{pattern}')"


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "v1.*",
        "*.*",
        "refs/heads/*",
        "src/**/*.py",
        ".github/*",
        "*[skip-ci]*",
        "a|b",
        "*(x)*",
        "c++*",
        "*?",
        "*$",
        "*.ex.*",
    ],
)
def test_a_glob_is_no_regular_expression(pattern: str) -> None:
    assert codes(f"glob(payload.name, '{pattern}')") == []
