"""
Several real routers on one real PostgreSQL, and everything that befalls them.

    network     a link to the database that can be cut and held up
    standby     a primary and its standby, which takes its place
    site        the fleet: database, links, routers, the target that they call
    target      that target: it keeps who called when
    senders     deliveries, each sent again until a router has taken it
    faults      what is done to the fleet, drawn by a seed
    judge       what ledger, target and senders say together, held against the promises
    campaign    all of it: `python -m tests.fleet`
"""
