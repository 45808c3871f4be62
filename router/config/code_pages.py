"""The page of a code: what it says with a bad and a good example, readable without a network."""

from pathlib import Path

from router.config.codes import CODES

_ROUTER = Path(__file__).parents[1]
_PLACES = (_ROUTER / "pages", _ROUTER.parent / "docs" / "codes")
"""Where an installed package and a clone keep the same files (see pyproject.toml)."""


def page(code: str) -> str:
    """The page of a known code as Markdown; its row of the table where the pages are missing."""
    for folder in _PLACES:
        try:
            return (folder / f"{code}.md").read_text("utf-8")
        except OSError:
            continue
    return f"# {code}\n\n{CODES[code].severity}: {CODES[code].about}\n"
