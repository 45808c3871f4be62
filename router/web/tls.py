"""The certificate of a listener: read again while connections come."""

import ssl
from pathlib import Path

from router.errors import SecretMissing, UsageError, os_errors_refused


class Certificate:
    """
    A certificate with its key, and the context in which new connections use it.

    `key` None: it is in the same file. TLS 1.2 at least, HTTP/1.1 only. `setting` names it where
    something is wrong.
    """

    def __init__(self, cert: str, key: str | None, *, setting: str = "server.tls") -> None:
        self.setting = setting
        self._cert = cert
        self._key = key
        self.files = tuple(Path(name) for name in (cert, key) if name is not None)
        self._served = self.read()
        self.ends_at = self._end()
        """When what is served ends, in Unix milliseconds; None: that could not be read."""
        self.context = self.read()
        # Asked at each handshake: to renew is then one assignment, with no moment at which a
        # connection meets the new certificate without its key.
        self.context.sni_callback = self._choose

    def read(self) -> ssl.SSLContext:
        """
        The files as they are now, ready to be served.

        Raises:
            SecretMissing: they cannot be used.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._cert, self._key, password=self._no_password)
        except OSError as error:
            raise SecretMissing(f"{self.setting}: {self._why(error)}") from error
        return context

    def serve(self, fresh: ssl.SSLContext) -> None:
        """New connections get what was `read`; those that are open keep what they have."""
        self._served = fresh
        self.ends_at = self._end()

    def _end(self) -> int | None:
        from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415 - costly

        try:
            certificate = load_pem_x509_certificate(first_certificate(self._cert).encode())
        except (UsageError, ValueError):
            return None
        return int(certificate.not_valid_after_utc.timestamp() * 1000)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        connection.context = self._served

    def _why(self, error: OSError) -> str:
        """What is wrong with which file; OpenSSL does not say which of the two is missing."""
        both = self._cert if self._key is None else f"{self._cert} with {self._key}"
        match error:
            case FileNotFoundError():
                missing = next((str(file) for file in self.files if not file.exists()), both)
                return f"{missing} cannot be read: no such file"
            case ssl.SSLError(reason="KEY_VALUES_MISMATCH"):
                return f"{both}: the key is not that of the certificate"
            case ssl.SSLError(reason="NO_START_LINE" | "PEM_LIB" | None):
                return f"{both}: not a certificate with its key, in PEM"
            case ssl.SSLError():
                return f"{both}: {str(error.reason).lower().replace('_', ' ')}"
        return f"{both} cannot be read: {error.strerror}"

    def _no_password(self) -> str:
        # Else OpenSSL would ask on the terminal, and a server without one would wait for ever.
        raise SecretMissing(f"{self.setting}: the key is locked by a password; give one without")


def first_certificate(path: str) -> str:
    """
    The certificate of a listener itself, of all in its PEM file: who signed it has signed others.

    Raises:
        UsageError: the file cannot be read.
    """
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    with os_errors_refused(f"cannot read {path}"):
        text = Path(path).read_text("utf-8", "replace").partition(begin)[2].partition(end)[0]
    return f"{begin}{text}{end}\n"
