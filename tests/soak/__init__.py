"""A router under mixed load for hours: `python -m tests.soak`; nothing may grow or be lost."""
