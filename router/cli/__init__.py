"""The command line: one file a command group; imports are lazy."""
