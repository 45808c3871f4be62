"""TOOL SHED: effects on the world, one kind a file."""
