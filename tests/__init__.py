"""Proofs: unit (mirrors router/), conformance, golden, docs, acceptance, faults and the rest."""
