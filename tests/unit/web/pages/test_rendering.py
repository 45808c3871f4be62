"""The one place that everything shown passes."""

import pytest
from jinja2 import UndefinedError

from router.web.admin.callers import ANYONE
from router.web.pages.assets import Assets
from router.web.pages.frame import Frame, KnownCaller, RouterStatus
from router.web.pages.rendering import Renderer, result_text, value_text


def frame(mask: object = str) -> Frame:
    renderer = Renderer(Assets(), mask=mask)  # type: ignore[arg-type]
    return Frame(renderer, lambda: RouterStatus("1", "g" * 64))


def shown(detail: str, mask: object = str) -> str:
    page = frame(mask).page(
        "fault.html", KnownCaller(ANYONE, "p"), title="t", code=400, detail=detail
    )
    return page.content.decode()


def test_text_is_escaped_and_what_would_steer_or_hide_is_written_out() -> None:
    page = shown("<b>\u202e\x1b[0m\x00\u200b&'\"</b>")
    assert "&lt;b&gt;\\u202e\\x1b[0m\\x00\\u200b&amp;&#39;&#34;&lt;/b&gt;" in page


def test_secrets_are_masked_before_they_are_escaped() -> None:
    """Escaping would change a secret, and then nobody would know it."""
    page = shown("the target said hush<&>hush", lambda text: text.replace("hush<&>hush", "***"))
    assert "the target said ***" in page
    assert "hush" not in page


def test_a_name_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        frame().page("fault.html", None, title="t")


def test_values_are_cut_and_keep_their_digits() -> None:
    assert value_text({"a": [1, None, "\x1b"]}) == '{"a":[1,null,"\\u001b"]}'
    assert len(value_text("x" * 1000)) == 201
    assert result_text({"a": 1}) == '{"a":1}'
    assert result_text("a\nb") == "a\nb"


def test_files_have_the_digest_of_their_content_in_their_names() -> None:
    assets = Assets()
    for file in ("router.css", "keys.js", "live.js", "overview.js", "try.js", "icon.svg"):
        path = assets.paths[file]
        stem, digest, ending = path.removeprefix("/static/").split(".")
        assert f"{stem}.{ending}" == file
        found = assets.files.get(path.removeprefix("/static/"))
        assert found is not None
        assert (len(digest), found.body != b"") == (12, True)
    assert "router.css" not in assets.files
