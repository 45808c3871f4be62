"""NOUNS: frozen values that every room may hold; no behaviour beyond reading themselves."""
