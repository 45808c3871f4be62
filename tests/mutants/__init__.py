"""
How much do the tests see? Small changes of the deciding modules, each to be noticed.

`tests.defects` plants faults that somebody thought of; here a machine makes them: a comparison
turned, a statement left out, a number off by one. `python -m tests.mutants` runs the tests of a
module against each. `groups.py` says which modules decide, `sites.py` what is changed, and
`alike.py` lists the changes that nobody can notice, with the reason.
"""
