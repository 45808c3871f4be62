"""
LEDGER: what is durable. `protocol` is what every store promises; `sqlite` keeps it in one file.
"""
