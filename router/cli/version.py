"""`router --version`: which program this is, and which stores it opens."""

import re
from pathlib import Path

from router import __commit__, __version__
from router.cli.output import print_answer

_STORE = Path(__file__).parents[1] / "store"
_DATABASES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def print_version(*, as_json: bool) -> None:
    """The commit is that of the build, or of the last install of a clone; null: not known."""
    schema = {name: schema_number(name) for name in _DATABASES}
    facts = {"version": __version__, "commit": __commit__ or None, "store_schema": schema}
    stores = ", ".join(f"{_DATABASES[name]} {number}" for name, number in schema.items())
    text = f"router {__version__}\ncommit {__commit__ or 'unknown'}\nstore schema: {stores}"
    print_answer(facts, text, as_json=as_json)


def schema_number(database: str) -> int:
    """Read from the source: the version is shown without importing a database."""
    text = (_STORE / database / "schema.py").read_text("utf-8")
    return int(re.findall(r"^VERSION = (\d+)$", text, re.MULTILINE)[0])
