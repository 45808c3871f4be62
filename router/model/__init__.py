"""NOUNS: frozen values that every package may hold; no behaviour beyond reading themselves."""
