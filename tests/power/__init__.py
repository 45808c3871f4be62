"""
How many random bugs do the tests catch? `python -m tests.power --help` says how it is run.

`tests.defects` plants bugs that somebody thought of; here chance makes them. `sites.py` draws and
plants them, each behind a switch of `switch.py`; `plugin.py` runs the tests with one on at a time;
`ledger.py` keeps the rates and compares them.
"""
