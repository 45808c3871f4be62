"""The wire: what strangers and good senders may put on a socket, against the real process."""
