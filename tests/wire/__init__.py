"""The wire: bytes in, bytes out, against a router that is served."""
