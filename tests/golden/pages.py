"""The page of a code: what it says, its two files, and the diagnostics as `check` prints them."""

from pathlib import Path

from router.config import render_text
from router.config.codes import CODES, SECTIONS, Code
from tests.golden.pairs import CODES_FOLDER, said

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "codes"
_LANGUAGE = {".py": "python", ".yaml": "yaml", ".sh": "sh", "": "sh"}
_TWINS = {"bad.yaml", "good.yaml"}


def page(code: str) -> str:
    """docs/codes/CODE.md."""
    row = CODES[code]
    parts = [
        f"# {code}\n\n{row.severity}: {row.about}{_ignorable(code)}\n",
        "`router check` reports it in this file:\n",
        _fence("yaml", _read(CODES_FOLDER / code / "bad.yaml")),
        _fence("text", render_text(said(code, "bad"))),
        "and accepts this one:\n",
        _fence("yaml", _read(CODES_FOLDER / code / "good.yaml")),
        *_beside(CODES_FOLDER / code),
        "[All codes](../diagnostics.md)\n",
    ]
    return "\n".join(parts)


def codes_markdown() -> str:
    """The lists of docs/diagnostics.md."""
    return "\n".join(_section(title, table) for title, table in SECTIONS.items())


def _section(title: str, table: dict[str, Code]) -> str:
    rows = [f"- [`{code}`](codes/{code}.md): {_about(c)}" for code, c in table.items()]
    return "\n".join([f"## {title}", "", *rows]) + "\n"


def _about(row: Code) -> str:
    return row.about if row.severity == "error" else f"*{row.severity}:* {row.about}"


def _ignorable(code: str) -> str:
    if not CODES[code].ignorable:
        return ""
    return f"\n\nTo accept it: `# check: ignore {code} REASON`, behind the line or alone above."


def _beside(folder: Path) -> list[str]:
    found = []
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.name not in _TWINS and file.suffix in _LANGUAGE:
            found.append(f"Beside both files: `{file.relative_to(folder)}`:\n")
            found.append(_fence(_LANGUAGE[file.suffix], _read(file)))
    return found


def _read(file: Path) -> str:
    """A file as a page may show it: what cannot be printed is a dot."""
    text = file.read_text("utf-8", "replace")
    return "".join(c if c.isprintable() or c == "\n" else "·" for c in text)


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"
