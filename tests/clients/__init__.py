"""The senders' own libraries and ours judge the same random requests: they must agree."""
