"""What stands in the rules file for each kind of action: its key, its schema, its checks."""

from router.config.kinds.base import Schema
from router.config.kinds.http import HTTP
from router.config.kinds.log import LOG
from router.config.kinds.python import PYTHON
from router.config.kinds.repository_dispatch import REPOSITORY_DISPATCH
from router.config.kinds.shell import SHELL

SCHEMAS: dict[str, Schema] = {
    "http": HTTP,
    "shell": SHELL,
    "python": PYTHON,
    "log": LOG,
    "repository_dispatch": REPOSITORY_DISPATCH,
}
"""By the key in the file."""
