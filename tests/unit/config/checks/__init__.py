"""Checks of whole files, beside their golden pairs: what else they find, and what they leave."""

from router.config import load

HEAD = """\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
"""


def findings(text: str, head: str = HEAD) -> list[tuple[str, int, str]]:
    """Code, line and message of all that `router check` says of a file with this behind HEAD."""
    found = load(head + text, path="rules.yaml", env={}, thorough=True, tests=True).diagnostics
    return [(d.code, d.line, d.message) for d in found]


def codes(text: str, head: str = HEAD) -> list[str]:
    """The codes of these, in the order of the file."""
    return [code for code, _, _ in findings(text, head)]
