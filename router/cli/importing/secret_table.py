"""The secrets of imported hooks: references for the rules, values for nobody's eyes."""

import re
from collections.abc import Container
from typing import Any

from router.cli.importing.hooks_file import Hook
from router.cli.importing.proofs import Proof


class SecretTable:
    """`rows` by name, each with its comment; `values` by the variables that `rows` name."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[dict[str, str], str]] = {}
        self.values: dict[str, str] = {}

    def copy(self) -> "SecretTable":
        """One to try with."""
        other = SecretTable()
        other.rows, other.values = dict(self.rows), dict(self.values)
        return other

    def name_of(self, hook: Hook, proof: Proof, base: str) -> str:
        """The name of this secret, kept under one like `base`; equal secrets share a name."""
        kind, text = hook.reference(proof.secret)
        stem = re.sub(r"\W", "_", base if base[0].isalpha() else f"hook_{base}")
        fresh = free(stem, self.rows)
        if not kind:
            value = proof.of(text)
            known = (name for name, other in self.values.items() if other == value)
            kind, text = "env", next(known, f"{fresh.upper()}_SECRET")
            self.values[text] = value
        named = (name for name, (row, _) in self.rows.items() if row == {kind: text})
        name = next(named, fresh)
        self.rows.setdefault(name, ({kind: text}, hook.place_of(proof.secret)))
        return name


def free(base: str, taken: Container[Any]) -> str:
    """The name, or the first one with a number behind it that is free."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
