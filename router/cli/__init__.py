"""DOORBELL: one file a command group; imports are lazy."""
