"""
What is durable: `protocol` is what every store promises, to each of its users apart; `values` are
what goes in and out; `common` is what stores share; `sqlite` keeps one in a file.
"""
