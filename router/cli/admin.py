"""A client of a running server's admin API, for the command line."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import click
import msgspec

from router.cli.generations import rules_to_read
from router.cli.no_server import NoServer, NotThisRouter
from router.cli.options import Options
from router.cli.output import note
from router.errors import BY_WORD, NotFound, StoreUnavailable, UsageError, os_errors_refused
from router.model.settings import local_url
from router.operator.answers import ExportPage, JobOutput, RefusalList, RefusedRequest, ServerState
from router.operator.times import decoded
from router.web.tls import first_certificate

if TYPE_CHECKING:
    import httpx

    from router.model.settings import ServerSettings
    from router.rules.ruleset import Ruleset

T = TypeVar("T")

_TIMEOUT_S = 60.0


class NotAdminApi(click.ClickException):
    """What answers there is no router's admin API."""

    def __init__(self, response: "httpx.Response") -> None:
        super().__init__(f"{response.url} is not a router's admin API")


class TokenRefused(click.ClickException):
    """The server does not know the token, or was given none."""


class MayNotSee(click.ClickException):
    """The token is valid, but its role may not do this."""


def admin_address(place: Options, server: "ServerSettings") -> str:
    """Where the admin listener here is: as --admin says, as the router said last, or the rules."""
    from router.wiring.stores import served_at

    return place.admin or served_at(server.store) or server.admin


def trusting(cert: str | None) -> ssl.SSLContext:
    """
    Who is believed to be the server: whoever has a certificate of an authority that the system
    trusts (or SSL_CERT_FILE), for the name in its URL.

    With `cert`, the certificate file of a listener on this machine: whoever has just that one. It
    is made out to the public name, so the name is not compared.

    Raises:
        UsageError: the file cannot be read.
    """
    import httpx

    if cert is None:
        return httpx.create_ssl_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    with os_errors_refused(f"cannot read {cert}"):
        context.load_verify_locations(cadata=first_certificate(cert))
    return context


def tls_fault(error: BaseException | None) -> str | None:
    """What is wrong with the certificate, if that is why a connection did not come to be."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return f"the TLS handshake failed: {error.reason or error}"
        error = error.__cause__ or error.__context__
    return None


def no_answer(error: Exception) -> str | None:
    """Why a request got no answer, if it is for one of the usual reasons."""
    import httpx

    if isinstance(error, httpx.ConnectError):
        return tls_fault(error) or "nothing listens there"
    return "no answer in time" if isinstance(error, httpx.TimeoutException) else None


class AdminClient:
    """
    Calls the admin API of one server. A context manager.

    `auth` adds the token to each request. `cert`: see `trusting`.
    """

    def __init__(
        self,
        base_url: str,
        auth: "httpx.Auth",
        *,
        cert: str | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        import httpx

        # trust_env off: a proxy of the environment has no business with an admin token.
        self._client = httpx.Client(
            base_url=base_url,
            auth=auth,
            timeout=timeout_s,
            trust_env=False,
            verify=base_url.startswith("https:") and trusting(cert),
        )
        self.cert, self.auth, self.base_url = cert, auth, base_url

    @classmethod
    def of(
        cls,
        place: Options,
        ruleset: "Ruleset | None" = None,
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> "AdminClient":
        """A client of the server that `--server` names, else of the server of these rules."""
        from router.cli.shown_token import ShownToken

        if place.server is not None:
            return cls(place.server.rstrip("/"), ShownToken(place.token), timeout_s=timeout_s)
        if ruleset is None:
            _, ruleset = rules_to_read(place)
        server = ruleset.server
        tls = server.admin_tls
        return cls(
            local_url(admin_address(place, server), tls=tls is not None),
            ShownToken(place.token, server.store, _kept_token(server.state)),
            cert=tls.cert if tls else None,
            timeout_s=timeout_s,
        )

    def __enter__(self) -> "AdminClient":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if isinstance(error, StoreUnavailable) and (why := self._not_ready()) is not None:
                raise StoreUnavailable(f"{why} ({error})") from None
        finally:
            self._client.close()

    def _not_ready(self) -> str | None:
        """Why no delivery can be committed there, as /readyz says, and what senders get."""
        head, _, why = self._response("GET", "/readyz").text.partition("\n")[0].partition(": ")
        if head != "not ready":
            return None
        return f"{self.base_url} is not ready: {why}; senders get 503, and try again"

    def refusals(self, limit: int) -> RefusalList:
        """What the server refused lately, newest first."""
        return self.read("/api/refusals", {"limit": limit}, RefusalList)

    def refusal(self, wanted: str, endpoint: str | None) -> RefusedRequest:
        """One refused request, whole: by its id, or the `last` (of an endpoint)."""
        query = {"id": wanted} | ({"endpoint": endpoint} if endpoint else {})
        return self.read("/api/refusal", query, RefusedRequest)

    def status(self) -> ServerState:
        """What runs there."""
        return self.read("/api/status", {}, ServerState)

    def output(self, job: str, after: str) -> JobOutput:
        """What the command of a job has written since `after`, if it runs there."""
        return self.read("/api/output", {"job": job, "after": after}, JobOutput)

    def write_counts(self, path: str) -> None:
        """
        Have the server write what it only counts in memory, as it does before it answers `path`.
        Raises as `read`.
        """
        _checked(self._response("GET", path))

    def read(self, path: str, query: Mapping[str, Any], kind: type[T]) -> T:
        """
        What the server answers to a question, as the value that it is.

        Raises:
            RouterError: the server's, as here.
            click.ClickException: it does not answer.
        """
        return _decoded(self._response("GET", f"{path}?{urlencode(query)}"), kind)

    def post(self, path: str, body: dict[str, Any], kind: type[T]) -> T:
        """What the server answers to a verb. Raises as `read`."""
        return _decoded(self._response("POST", path, body), kind)

    def export(self, query: Mapping[str, Any]) -> ExportPage:
        """A page of an export. Raises as `read`."""
        response = self._response("GET", f"/api/export?{urlencode(query)}")
        _checked(response)
        return msgspec.json.decode(response.content, type=ExportPage)

    def body(self, delivery: str) -> bytes:
        """What a delivery brought, byte for byte."""
        response = self._response("GET", f"/api/deliveries/{delivery}/body")
        if response.is_error:
            _checked(response)
        return response.content

    def is_there(self) -> bool:
        """Whether the server listens at its address. Raises as `read`."""
        try:
            self._response("GET", "/livez")
        except NoServer as error:
            if isinstance(error, NotThisRouter):
                note(error.message)
            return False
        return True

    def _response(self, method: str, path: str, body: Any = None) -> "httpx.Response":
        import httpx

        try:
            response = self._client.request(method, path, json=body)
        except httpx.ConnectError as error:
            if (fault := tls_fault(error)) is not None:
                raise click.ClickException(f"{self.base_url}: {fault}") from None
            raise NoServer(f"no server runs at {self.base_url}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise click.ClickException(f"{self.base_url} does not answer: {error}") from None
        if response.status_code == 401:
            raise TokenRefused(
                f"the server at {self.base_url} does not accept the token; "
                "set ROUTER_TOKEN, `router login` again, or run this beside the server's store"
            )
        return response


def _decoded(response: "httpx.Response", kind: type[T]) -> T:
    _checked(response)
    try:
        return decoded(response.content, kind)
    except msgspec.ValidationError as error:
        raise click.ClickException(
            f"{response.url} is of another version than this command: {error}"
        ) from None


def _checked(response: "httpx.Response") -> None:
    """
    Raises:
        NotAdminApi: what answers is no router.
        RouterError: the server's, by its word, as the same without a server.
        click.ClickException: any other refusal.
    """
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise NotAdminApi(response)
    if not response.is_error:
        return
    detail = str(answer.get("detail") or answer.get("title") or "")
    if not detail:
        raise NotAdminApi(response)
    by_status = {400: UsageError, 403: MayNotSee, 404: NotFound}
    known = BY_WORD.get(str(answer.get("error"))) or by_status.get(response.status_code)
    raise (known or click.ClickException)(detail)


def _kept_token(state: Path) -> str | None:
    """The one in the file beside the store; None: no router has made one yet."""
    try:
        return Path(f"{state}.token").read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"cannot read {state}.token, by which the router here is known: {error.strerror}; "
            "name the router by --server URL, with ROUTER_TOKEN"
        ) from None
