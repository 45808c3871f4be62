"""Types and shapes of expressions over payloads: what they may give, and what cannot be meant."""
