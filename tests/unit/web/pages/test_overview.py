"""The first page: what needs a person leads closer, and every part of the answer is shown."""

import pytest

from router.operator.overview_answer import Attention
from router.web.pages.overview import closer
from tests.unit.web.pages.rig import Rig, nodes


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("reload", None, "/reload"),
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
