"""What `router new` writes: texts, and what fills them."""

from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

T = TypeVar("T")


def template(name: str) -> str:
    """The text of this file."""
    return Path(__file__).with_name(name).read_text("utf-8")


def filling(name: str, kind: type[T]) -> T:
    """What this YAML file holds."""
    return msgspec.convert(yaml.safe_load(template(name)), kind)
