"""Proofs: unit (mirrors router/), acceptance (the real program), faults (power cuts, kills)."""
