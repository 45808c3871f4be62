"""The real program from outside: its own process, real sockets, really signed requests."""
