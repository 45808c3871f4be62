"""What has one right answer is mended, and nothing else of the file."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from router.config import load
from router.config.files import FolderFiles
from router.config.fixing import Fixed, fixed
from router.errors import Diagnostic, Fix
from tests.chance import thinned
from tests.golden.pairs import CODES_FOLDER

HEAD = """\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints: {shop: {id: 0123456789abcdef, provider: shopify, secrets: shop}}
targets: {erp: {url: "https://erp.example.net"}}
rules:
"""
GOLDEN = CODES_FOLDER.parent


def mended(text: str, included: Mapping[str, str] | None = None) -> Fixed:
    """Of a file `rules.yaml` and what it includes, all in memory."""
    texts = {"rules.yaml": text, **(included or {})}

    def check(changed: Mapping[str, str]) -> tuple[Diagnostic, ...]:
        now = texts | dict(changed)
        files = _InMemory({k: v for k, v in now.items() if k != "rules.yaml"})
        found = load(
            now["rules.yaml"], path="rules.yaml", env={}, files=files, tests=True, thorough=True
        )
        return found.diagnostics

    return fixed(texts.__getitem__, check)


class _InMemory(FolderFiles):
    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def fitting(self, pattern: str) -> list[str]:
        return [name for name in self._texts if name == pattern]

    def read(self, name: str) -> bytes:
        return self._texts[name].encode("utf-8")


def line(condition: str, *, rest: str = "actions: {log: hi}") -> str:
    return (
        HEAD + f"  - id: a\n    from: shop\n    events: orders/paid\n    {condition}\n    {rest}\n"
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("match: !payload.test", "match: '!payload.test'"),
        ("match: [!payload.test, payload.confirmed]",
         "match: ['!payload.test', payload.confirmed]"),
        ("match: 'paid' == payload.financial_status",
         "match: \"'paid' == payload.financial_status\""),
        ("match: payload.note == 'a: b'", "match: \"payload.note == 'a: b'\""),
        ("match: payload.note == 'issue #1' # why", "match: \"payload.note == 'issue #1'\" # why"),
        ('match: payload.financial_status == "paid"', "match: payload.financial_status == 'paid'"),
        ("match: payload.currency == EUR", "match: payload.currency == 'EUR'"),
        ("match: 'payload.currency == EUR'", "match: 'payload.currency == ''EUR'''"),
        ('match: "payload.currency == \\"EUR\\""', "match: \"payload.currency == 'EUR'\""),
        ("match: |\n      payload.name == x", "match: |\n      payload.name == 'x'"),
        ("match: payload.total_price >= 500", "match: decimal(payload.total_price) >= 500"),
        ("match: 10.5  <  payload.total_price", "match: 10.5  <  decimal(payload.total_price)"),
        ("match: round(payload.total_price) > 1", "match: round(decimal(payload.total_price)) > 1"),
        ("match: payload.number == '5'", "match: payload.number == 5"),
        ("match: payload.test == 'true'", "match: payload.test == true"),
        ("match: payload.total_prise == '1'", "match: payload.total_price == '1'"),
        ("match: payload.financial_status == 'piad'", "match: payload.financial_status == 'paid'"),
        ("match: lowr(payload.name) == 'x'", "match: lower(payload.name) == 'x'"),
        ("match: payload.test = true", "match: payload.test == true"),
        ("match: payload.test and payload.confirmed", "match: payload.test && payload.confirmed"),
        ("mtach: payload.test", "match: payload.test"),
        ("match: payload.number === 5", "match: payload.number == 5"),
        ("match: payload.number <> 5", "match: payload.number != 5"),
        ("match: payload.number =< 5", "match: payload.number <= 5"),
        ("match: payload.closed_at == None", "match: payload.closed_at == null"),
        ("match: payload.test == True", "match: payload.test == true"),
        ("match: payload.currency == 'eur'", "match: payload.currency == 'EUR'"),
    ],
)  # fmt: skip
def test_one_right_answer(wrong: str, right: str) -> None:
    result = mended(line(wrong))
    assert result.texts == {"rules.yaml": line(right)}
    assert not [d for d in result.left if d.severity == "error"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("from: shop", "from: shpo"),
        ("events: orders/paid", "events: 'orders/piad'"),
        ("provider: shopify", "provider: shopfy"),
        ("secrets: shop}", 'secrets: "shpo"}'),
        ("actions: {log: hi}", "actions: {http: {target: epr}}"),
        ("actions: {log: hi}", "actions: {http: {target: erp, method: post}}"),
    ],
)
def test_misspelt_names_keep_their_quotes(wrong: str, right: str) -> None:
    good = line("match: payload.test")
    bad = good.replace(wrong, right)
    result = mended(bad)
    meant = {"shpo": "shop", "piad": "paid", "shopfy": "shopify", "epr": "erp", "post": "POST"}
    for name, instead in meant.items():
        bad = bad.replace(name, instead)
    assert result.texts == {"rules.yaml": bad}


@pytest.mark.parametrize(
    "condition",
    [
        "match: payload.xyzzy == '1'",
        "match: payload.total_price > payload.subtotal_price",
        "match: round(payload.total_price",
        "match: payload.note == !x",
    ],
)
def test_what_has_several_answers_is_left(condition: str) -> None:
    assert mended(line(condition)).texts == {}


def test_a_key_that_is_there_already_is_not_made_twice() -> None:
    assert mended(line("evnts: orders/create")).texts == {}


def test_an_answer_that_does_not_help_is_left_out_and_the_others_stay() -> None:
    """The name is near one that is a list, of which nothing else on the line is true."""
    other = line("match: payload.total_price >= 500").removeprefix(HEAD).replace("id: a", "id: b")
    bad = line("match: payload.line_itmes == 'x'")
    result = mended(bad + other)
    assert [d.code for d in result.refused] == ["misspelt-field"]
    good = other.replace("payload.total_price", "decimal(payload.total_price)")
    assert result.texts == {"rules.yaml": bad + good}


def test_what_a_mistake_has_hidden_is_said_and_no_reason_to_leave_it() -> None:
    result = mended(line("mtach: payload.line_items.vendor"))
    assert result.texts == {"rules.yaml": line("match: payload.line_items.vendor")}
    assert [d.code for d in result.left] == ["field-of-list"]


def test_an_included_file_is_mended_where_it_is() -> None:
    """Line breaks and comments stay as they are."""
    rule = "rules:\r\n  - {id: b, from: shpo, actions: {log: hi}}  # mine\r\n"
    top = line("match: payload.test").replace("rules:", "include: more.yaml\nrules:", 1)
    assert mended(top, {"more.yaml": rule}).texts == {"more.yaml": rule.replace("shpo", "shop")}


def test_a_password_is_no_part_of_an_answer() -> None:
    text = line(
        "match: payload.test", rest="actions: {http: https://me:pass-word@example.net/{{ x }}}"
    )
    found = load(text, path="rules.yaml", env={}).diagnostics
    assert found
    assert all(d.fix is None for d in found)
    assert "pass-word" not in repr(found)


WRONG = [*sorted(CODES_FOLDER.glob("*/bad.yaml")), *sorted((GOLDEN / "err").glob("*.yaml"))]


@pytest.mark.long
@pytest.mark.parametrize(
    "path", thinned(WRONG, one_of=12), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_of_any_wrong_file_what_is_mended_is_gone_and_a_second_run_changes_nothing(
    path: Path,
) -> None:
    try:
        text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return  # nothing of it can be read

    def check(changed: Mapping[str, str]) -> tuple[Diagnostic, ...]:
        now = changed.get(str(path), text)
        return load(now, path=str(path), env={}, tests=True).diagnostics

    result = fixed(lambda _: text, check)
    again = fixed(
        lambda _: result.texts.get(str(path), text), lambda c: check(result.texts | dict(c))
    )
    assert again.texts == {}
    said = {(d.line, d.code, d.message) for d in result.left}
    assert not said & {(d.line, d.code, d.message) for d in result.done}


def test_a_name_that_is_only_a_part_of_what_stands_there_is_not_put_in_its_place() -> None:
    text = line("match: payload.test") + "server: {store: postgre://router@db.example.net/router}\n"
    found = load(text, path="rules.yaml", env={}).diagnostics
    assert [d.code for d in found if d.hint and d.hint.startswith("did you mean")] == ["bad-store"]
    assert mended(text).texts == {}


@pytest.mark.parametrize(
    "condition",
    [
        "payload.line_itmes == 'x' || payload.total_prise == '1'",
        "payload.total_prise == '1' || payload.line_itmes == 'x'",
    ],
)
def test_beside_an_answer_that_does_not_help_in_one_line_the_other_is_written(
    condition: str,
) -> None:
    result = mended(line(f"match: {condition}"))
    right = condition.replace("prise", "price")
    assert result.texts == {"rules.yaml": line(f"match: {right}")}
    assert [d.hint for d in result.refused] == ["did you mean 'line_items'?"]


def test_of_answers_that_overlap_the_first_is_written_before_the_second_is_looked_at() -> None:
    def check(changed: Mapping[str, str]) -> tuple[Diagnostic, ...]:
        text = changed.get("a", "1 + 2")
        outer = Diagnostic(code="o", message="o", file="a", fix=Fix(1, 1, 6, "(1)"))
        inner = Diagnostic(code="i", message="i", file="a", fix=Fix(1, 5, 6, "3"))
        there = {outer: not text.startswith("("), inner: "2" in text}
        return tuple(d for d, said in there.items() if said)

    assert fixed(lambda _: "1 + 2", check).texts == {"a": "(1)"}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("{log: payload.total_price}", "{log: '{{ payload.total_price }}'}"),
        ("{log: 'of ${payload.name}!'}", "{log: 'of {{ payload.name }}!'}"),
    ],
)
def test_a_text_that_was_meant_as_a_template_becomes_one(wrong: str, right: str) -> None:
    text = line("match: payload.test", rest=f"actions: {wrong}")
    assert mended(text).texts == {
        "rules.yaml": line("match: payload.test", rest=f"actions: {right}")
    }
