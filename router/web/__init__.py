"""DOOR AND WINDOWS: the only room that knows Litestar."""
