"""docs/conf.py: the navigation of the site is docs/index.md, and no page is outside of it."""

import importlib.util
import re
from typing import Any

import pytest

from tests.acceptance.process import ROOT

INDEX = (ROOT / "docs" / "index.md").read_text("utf-8")


@pytest.fixture(scope="module")
def conf() -> Any:
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_heading_lists_its_pages(conf: Any) -> None:
    shown = conf.navigation("## One\n- [a](a.md), [b](b.md)\n## Two\n[a](a.md) [c](../c.md)\n")
    lists = re.findall(r":caption: (\w+)\n\n(.*?)\n```", shown, re.DOTALL)
    assert lists == [("One", "a\nb"), ("Two", "../c")]


def test_a_list_without_pages_is_none(conf: Any) -> None:
    assert conf.navigation("## One\n[a](https://a.example/x.md), [b](b.yaml)\n") == ""


def test_developer_pages_are_apart(conf: Any) -> None:
    *others, last = conf.navigation(INDEX).split(":caption: ")
    assert last.startswith("For contributors\n")
    assert "dev/" in last
    assert "dev/" not in "".join(others)
