"""What both stores do alike where values are taken out of what they hold."""

import hashlib

_RULE_END = "\x1f"


def hidden_key(key: str) -> str:
    """The key of a rule's group by the digest of its value, as planning makes it of such values."""
    rule, _, value = key.partition(_RULE_END)
    return f"{rule}{_RULE_END}{hashlib.sha256(value.encode()).hexdigest()}"
