"""`router listen`: deliveries of a running router, forwarded to a developer's machine."""
