"""Faults made on purpose: power cuts (`powercut`) and kills (`kill`), each a command as well."""
