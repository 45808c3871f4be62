"""JSON that YAML reads alike: numbers digit for digit, every text in quotes."""

import msgspec

from router.expressions import JSON, encode_json

# What YAML does not print as it stands is escaped.
_ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF)} | {
    code: f"\\u{code:04x}" for code in (0xFFFE, 0xFFFF)
}


def yaml_json(value: JSON, *, indent: int = 0) -> str:
    """On one line, or with each level indented."""
    text = encode_json(value)
    return (
        (msgspec.json.format(text, indent=indent) if indent else text).decode().translate(_ESCAPED)
    )
