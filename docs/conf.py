"""
The documentation as a site: `sphinx-build -W -c docs . site`, then open site/index.html.

The pages are the Markdown files as they stand in the repository, and links lead from one to the
next as they do there. The navigation is made of docs/index.md: its headings and its links.
"""

import re
from pathlib import Path
from typing import Any

project = "router"
root_doc = "docs/index"
include_patterns = ["docs/**.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "tests/README.md"]
exclude_patterns = [".*", "benchmarks", "build", "plugins", "router", "site", "tests/*/**"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
nitpicky = True
html_theme = "furo"
html_title = "router"
html_copy_source = html_use_index = False

_SECTION = re.compile(r"^## (.+)\n((?:(?!^## ).*\n)*)", re.MULTILINE)
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)\.md\)")
_FOLDERS = {"docs/diagnostics": "codes/*", "docs/providers": "providers/*"}
"""Pages that a page leads to, too many for the index."""


def navigation(index: str) -> str:
    """One list of pages for each heading; a page that two of them name belongs to the first."""
    named: set[str] = set()
    lists = []
    for heading, text in _SECTION.findall(index):
        pages = [page for page in dict.fromkeys(_LINK.findall(text)) if page not in named]
        named.update(pages)
        if pages:
            lists.append(_pages(*pages, options=f":caption: {heading}\n"))
    return "".join(lists)


def _pages(*pages: str, options: str = "") -> str:
    return f"\n```{{toctree}}\n:hidden:\n{options}\n" + "\n".join(pages) + "\n```\n"


def _with_navigation(_: object, page: str, source: list[str]) -> None:
    if page == root_doc:
        source[0] += navigation(source[0])
    elif page in _FOLDERS:
        source[0] += _pages(_FOLDERS[page], options=":glob:\n")


def _first_page(app: Any, fault: Exception | None) -> None:
    if fault is None:
        text = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        Path(app.outdir, "index.html").write_text(text, "utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _with_navigation)
    app.connect("build-finished", _first_page)
