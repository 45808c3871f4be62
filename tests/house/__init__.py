"""The house: what the code may do and stand on, and how large it may be."""
