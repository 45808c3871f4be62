"""How an admin listener proves that it has the token beside the store, without showing it."""

import hmac

from router.model.addresses import parse_address

NONCE, PROOF = "router-nonce", "router-proof"
"""The header of a probe that asks for a proof, and that of the answer."""


def proof(token: str, store: str, nonce: str, address: tuple[str, int]) -> str:
    """
    What only a holder of the token can answer to this nonce, at this address of a listener, for
    this store (routers of two stores in one folder may share a token); "": for whatever store.

    The address is that of the connection, as each end sees it: a process at another address that
    passes the nonce on to the router gets a proof that is worth nothing at its own.
    """
    host, port = parse_address(address[0]) or address[0], address[1]
    text = f"router admin listener\n{store}\n{nonce}\n{host}\n{port}"
    return hmac.new(token.encode("utf-8"), text.encode("utf-8"), "sha256").hexdigest()
