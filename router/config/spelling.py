"""How names and other short texts of a rules file are spelled: `check` and its schema read it."""

import re

from router.model.settings import OWN

NAME = re.compile(r"[a-z][a-z0-9_]*")
"""What expressions name."""
ID = re.compile(r"[a-z0-9][a-z0-9_-]*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
GIVEN_VARIABLE = re.compile(rf"(?!WEBHOOK_){VARIABLE.pattern}")
"""Of a command; those that begin so are set by the router itself."""
ENDPOINT_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
PATH = re.compile(r"/[!-\"$->@-z|~]*")
"""Printable ASCII without `?`, `#`, `{` and `}`."""
ADDRESS = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.*_-]*):([0-9]{1,5})")
TOKEN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
STATUSES = re.compile(r"([1-5])(?:xx|([0-9]{2})(?:-([1-5][0-9]{2}))?)")
URL = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#@{\s]+(?:[/?#].*)?", re.DOTALL)
"""Its host is not from a template, and it holds no password."""
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
STORE = re.compile(r"(?:sqlite:|postgres(?:ql)?://).+", re.DOTALL)
EVENT = re.compile(r"[!-)+-~](?:[ -)+-~]*[!-)+-~])?")
"""One event, not a pattern of several."""
RANGE = re.compile(r"[0-9a-fA-F:.]+(?:/[0-9.]+)?")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ENDPOINTS_TAKEN = frozenset({"all", OWN})
TOKENS_TAKEN = ("anyone", "local", "token")
"""Names in the audit that are not tokens."""
