"""The page that tries a condition: what is wrong with it, what is better, and a rule of it."""

import asyncio
import os
from html import unescape
from urllib.parse import quote_plus

import msgspec
import pytest

from router.config import Loaded, load
from router.errors import ExpressionError
from router.expressions import compile as compiled
from router.operator.where import unknown_names
from router.rehearsal import TrialRunner
from router.rules.live import LiveRuleset, SecretValues
from router.web.pages.try_condition import TEXT_MAX, advice, as_diagnostic
from tests.builders import a_ruleset
from tests.unit.web.pages.rig import Rig, nodes


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("nothing.id == 1", "nothing", "there is no 'nothing' here"),
        ("payload.id == def.total", "def.total", "the rules file has no def.total"),
        ("results.erp.status == 200", "results", "there is no 'results' here"),
        ("secret.erp == 'x'", "secret", "there is no 'secret' here"),
    ],
)
def test_names_that_are_not_there_are_reported_where_they_stand(
    text: str, at: str, message: str
) -> None:
    [fault] = unknown_names(compiled(text), a_ruleset())
    line = advice(text, as_diagnostic(text, fault)).line
    assert (fault.message, line[1]) == (message, at)
    assert "".join(line) == text


@pytest.mark.parametrize("text", ["a ==", "a\n== =\nb", "(", "'", "a == 'b", "\n\n[", "payload.["])
def test_a_fault_is_shown_in_its_line(text: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        compiled(text)
    before, at, after = advice(text, as_diagnostic(text, raised.value)).line
    assert "\n" not in before + at
    assert before + at + after in text.split("\n")


async def test_the_page(free: Rig) -> None:
    path = f"/deliveries/{free.ids['delivery']}/try"
    assert b"Verdict" not in (await free.get(path)).body
    page = (await free.get(f"{path}?text=payload.id+%3D%3D+1")).body.decode()
    assert "payload.id = 1 (number)" in page
    page = (await free.get(f"{path}?text=payload.id+%3D%3D%3D+1")).body.decode()
    assert '<span class="mark">' in page
    for odd, said in (
        ("text=" + "x" * (TEXT_MAX + 1), "at most 4096 characters"),
        ("text=payload.id&event=9", "no event 9"),
    ):
        assert said in (await free.get(f"{path}?{odd}")).body.decode()
    assert (await free.get(f"{path}?event=x")).status == 400


async def looked(rig: Rig, text: str, more: str = "") -> str:
    path = f"/deliveries/{rig.ids['delivery']}/try?text={quote_plus(text)}{more}"
    return (await rig.get(path)).body.decode()


async def test_what_check_says_is_offered_and_taken_with_one_press(free: Rig) -> None:
    page = await looked(free, "payload.text == plain")
    assert "&#39;plain&#39; is a bare word" in page
    [better] = [a["href"] for tag, a in nodes(page.encode()).elements if a.get("class") == "better"]
    page = (await free.get(str(better))).body.decode()
    assert "payload.text == &#39;plain&#39;</textarea>" in page
    assert "s-true" in page
    assert "mark" not in page


async def test_the_fields_of_the_event_are_listed_with_their_values(free: Rig) -> None:
    page = unescape(await looked(free, ""))
    assert "<code>payload.text</code>" in page
    assert '<code>"plain"</code>' in page


FILE = """\
version: 1
secrets: {shop: {env: SHOP}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
  - {id: every, from: shop, actions: {log: x}}
"""


def loaded(text: str) -> Loaded:
    return load(text, path="rules.yaml", env={}, tests=True)


async def test_a_rule_of_it_comes_with_a_test_that_passes(free: Rig) -> None:
    ruleset = loaded(FILE).ruleset
    assert ruleset is not None
    known = {**free.world.live.current.ruleset.providers, **ruleset.providers}
    ruleset = msgspec.structs.replace(ruleset, providers=known)
    free.world.live.swap(LiveRuleset(ruleset, SecretValues({}, {})))
    page = unescape(await looked(free, "payload.id == 1", "&rule=yes"))
    made = page.partition('<pre id="made" tabindex="0">')[2].partition("</pre>")[0]
    assert "    match: payload.id == 1\n" in made
    pasted = loaded(FILE + made.removeprefix("rules:\n"))
    assert pasted.ruleset is not None
    runner = TrialRunner(pasted.ruleset, environ={}, random_bytes=os.urandom)
    [result] = await asyncio.to_thread(lambda: [runner.run(one) for one in pasted.trials])
    assert result.trial.expect.matched == {"every", "shop-unknown"}
    assert result.failures == ()


async def test_no_rule_is_made_of_a_condition_that_is_wrong(free: Rig) -> None:
    page = await looked(free, "payload.id == one", "&rule=yes")
    assert "&#39;one&#39; is a bare word" in page
    assert 'id="made"' not in page
