"""
HTTP/1.1, with and without TLS: what goes out (`request`), what comes back (`response`), one
connection (`connection`), who is connected to (`dialling`) and what is kept (`client`).
"""
