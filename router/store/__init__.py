"""
What is durable: `protocol` is what every store promises, to each of its users apart, `reads` its
reading half; `values` are what goes in and out; `common` is what stores share; `sqlite` keeps one
in a file, `postgres` one in a database of several routers, `moving` copies the first to the second.
"""
