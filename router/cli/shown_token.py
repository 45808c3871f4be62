"""Shows a token to the router that it is for, and to nobody else who listens in its place."""

import secrets
from collections.abc import Generator

import httpx

from router.cli.no_server import NotThisRouter
from router.model.store_address import StoreAddress
from router.web.admin.proof import NONCE, PROOF, proof
from router.wiring.stores import identity

Flow = Generator[httpx.Request, httpx.Response, None]


class ShownToken(httpx.Auth):
    """
    Sends a token with each request: to a URL that a person named, or to the router of `store`.

    The latter must have proved that it has `kept`, the token in the file beside the store; None:
    no router has made one. Each request is preceded by a proof, for a command can outlive the
    router that it began with.
    """

    def __init__(
        self, token: str | None, store: StoreAddress | None = None, kept: str | None = None
    ) -> None:
        self._token, self._store, self._kept = token or kept, store, kept

    def auth_flow(self, request: httpx.Request) -> Flow:
        """Raises NotThisRouter: the answer to the probe proves nothing."""
        if self._store is not None:
            yield from self._probe(request, self._store)
        if self._token:
            request.headers["authorization"] = f"Bearer {self._token}"
        yield request

    def _probe(self, request: httpx.Request, store: StoreAddress) -> Flow:
        url, nonce, times = request.url.join("/livez"), secrets.token_hex(32), request.extensions
        answer = yield httpx.Request("GET", url, headers={NONCE: nonce}, extensions=times)
        try:
            address = answer.extensions["network_stream"].get_extra_info("server_addr")
        except OSError:  # it has closed the connection already
            address = None
        if self._kept is not None and address is not None:
            wanted = proof(self._kept, identity(store), nonce, address[:2])
            if wanted in answer.headers.get(PROOF, "").split():
                return
        raise NotThisRouter(f"{url.scheme}://{url.netloc.decode('ascii')}", str(store))
