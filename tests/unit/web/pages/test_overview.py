"""The first page: what needs a person leads closer, and every part of the answer is shown."""

import pytest

from router.errors import Diagnostic
from router.operator.overview_answer import Attention
from router.web.pages.overview import closer
from tests.unit.web.pages.rig import Rig, nodes


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("reload", None, "/reload"),
        ("check", None, "/reload"),
        ("secret", "shop", "/refused"),
        ("store", None, "#store"),
        ("dead", None, "/dead"),
        ("node", "a", "/nodes"),
        ("refused", "shop", "/refused"),
        ("endpoint", "shop", "/deliveries?endpoint=shop"),
        ("target", "http://h/x y", "/targets?find=http%3A%2F%2Fh%2Fx+y"),
        ("late", "erp", "/targets?find=erp"),
    ],
)
def test_what_needs_a_person_leads_to_its_page(kind: str, name: str | None, path: str) -> None:
    assert closer(Attention(kind, "text", "command", name)) == path  # type: ignore[arg-type]


async def test_what_check_finds_is_listed_with_the_reload(rig: Rig) -> None:
    await rig.log_in("hidden")
    assert "check finds" not in (await rig.get("/reload")).body.decode()
    one = Diagnostic(code="never-true", message="it is <never>", file="r.yaml", line=3, column=5)
    rig.world.live.current.findings = (one,)
    text = " ".join(nodes((await rig.get("/")).body).text)
    assert "check has 1 finding about the rules in force" in text
    text = " ".join(" ".join(nodes((await rig.get("/reload")).body).text).split())
    assert "r.yaml:3:5 error never-true : it is <never>" in text


async def test_the_page(rig: Rig) -> None:
    await rig.log_in("hidden")
    page = nodes((await rig.get("/")).body)
    text = " ".join(" ".join(page.text).split())
    for words in ("dead letter", "In the last hour", "last 24 hours", "10.0 GiB",
                  "dead letters", "jobs that wait", "endpoint", "plain"):  # fmt: skip
        assert words in text, words
    charts = [a for tag, a in page.elements if tag == "svg"]
    assert len(charts) >= 10
    assert all(a["role"] == "img" and a["aria-label"] for a in charts)
