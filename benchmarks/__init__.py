"""
What the router does in a second, measured against other servers in the same run.

`bench` is what each measurement is given, and `cost` what one of many takes; `machine`, `rows`,
`rates`, `dispatching`, `many`, `mail`, `sizes`, `beside`, `memory`, `start`, `stress`,
`slow_sync`, `neighbour`, `pressure`, `traces`, `fleet` (on a `database`) and `takeover` measure;
`profiling` watches a router (`sampled`) and shares its time out (`stages`). `baseline` measures an
older commit too. `wrk`, `pace`, `posts`, `flood` and `idle` generate load; `pushes` and `orders`
are what they send, `seed` and `backlog` what lies in a store before. `peers`, `nodered`,
`rulebook`, `echo` and `sink` are other servers. `figures` is what was found, and `table`,
`picture` (by `drawing`), `page` and `comparing` make something of it. `store` is a program of its
own.
"""
