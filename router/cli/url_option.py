"""URLs as people type them: `3000`, `localhost:3000/hook` and whole ones."""

import re

_SHORT = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])?:(?P<rest>[0-9]{1,5}(?:[/?].*)?)")


def whole_url(text: str) -> str:
    """
    `3000/x` and `:3000/x` are on this machine, and `HOST:PORT/x` is http. Anything else stays as it
    is: whoever wants a URL judges it.
    """
    found = _SHORT.fullmatch(text) or _SHORT.fullmatch(f":{text}")
    return f"http://{found['host'] or 'localhost'}:{found['rest']}" if found else text
