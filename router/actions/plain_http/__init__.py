"""
HTTP/1.1 without TLS, for calls that need nothing more: what goes out (`request`), what comes back
(`response`) and the connections between (`client`). Whatever is unusual stays with aiohttp.
"""
