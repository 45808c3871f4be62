"""Files that are made from the program: held against it, or with GOLDEN=write made anew."""

import os
from pathlib import Path


def made_of(file: Path, text: str) -> str:
    """What the file holds; `text`, what it should hold, is put there where GOLDEN=write says so."""
    if os.environ.get("GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    return file.read_text("utf-8")
