"""What proves a call's sender: signatures over the body, and client certificates."""

import base64
import binascii
import functools
import hashlib
import hmac
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from router.kinds.http import HttpCall
from router.model.settings import Tls

CONTEXTS_MAX = 64
_PREFIX = b"whsec_"


class UnusableError(Exception):
    """The call cannot be secured as the rules want; the text says why, with no secret in it."""


class UnusableFilesError(UnusableError):
    """Not now: files may come."""


def signatures(call: HttpCall, message_id: str, now_s: float) -> Iterator[tuple[str, str]]:
    """
    The headers that sign a call, over exactly the bytes of its body.

    Raises:
        UnusableError: a key is empty, or not what the scheme needs.
    """
    if (sign := call.sign) is None:
        return
    if not all(call.sign_keys):
        raise UnusableError("a secret to sign with is empty")
    if sign.scheme == "standard-webhooks":
        yield from _standard_webhooks(call, message_id, int(now_s))
        return
    made = (hmac.digest(key, call.body, sign.algorithm) for key in call.sign_keys)
    texts = (m.hex() if sign.encoding == "hex" else base64.b64encode(m).decode() for m in made)
    yield sign.header.lower(), ", ".join(sign.prefix + text for text in texts)


def _standard_webhooks(call: HttpCall, message_id: str, now_s: int) -> Iterator[tuple[str, str]]:
    message = f"{message_id}.{now_s}.".encode() + call.body
    made = (hmac.digest(_raw_key(key), message, "sha256") for key in call.sign_keys)
    yield "webhook-id", message_id
    yield "webhook-timestamp", str(now_s)
    yield "webhook-signature", " ".join("v1," + base64.b64encode(m).decode() for m in made)


def _raw_key(text: bytes) -> bytes:
    """The key in a Standard Webhooks secret: base64, usually behind `whsec_`."""
    try:
        return base64.b64decode(text.strip().removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise UnusableError("a secret to sign with is not base64 (whsec_…)") from None


class Contexts:
    """TLS settings by what they were made of: a file that has changed makes a new one."""

    def __init__(self) -> None:
        self._made: dict[object, ssl.SSLContext] = {}
        self._usual = _usual()

    def of(self, tls: Tls | None, key: str | None) -> ssl.SSLContext:
        """
        The settings for one target. Certificates are always checked.

        Raises:
            UnusableFilesError: a file cannot be read or used.
        """
        if tls is None:
            return self._usual
        try:
            stamps = tuple(_stamp(path) for path in (tls.ca, tls.cert, tls.key) if path)
            digest = hashlib.sha256(key.encode()).digest() if key else None
            if (known := self._made.get((tls, stamps, digest))) is None:
                if len(self._made) >= CONTEXTS_MAX:
                    self._made.clear()
                known = self._made[(tls, stamps, digest)] = _context(tls, key)
        except OSError as error:  # SSLError is one; its text names no content
            what = Path(error.filename).name if error.filename else "a certificate or key"
            raise UnusableFilesError(f"the TLS files cannot be used: {what}") from None
        return known


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - a Path for each call costs more than the question
    return status.st_mtime_ns, status.st_size


@functools.cache
def _usual() -> ssl.SSLContext:
    """What every target without settings of its own is called with: 20 ms, once a process."""
    return _trusting(None)


def _trusting(authorities: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authorities)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


def _context(tls: Tls, key: str | None) -> ssl.SSLContext:
    context = _trusting(tls.ca)
    if tls.cert is None:
        return context
    if key is None:
        context.load_cert_chain(tls.cert, tls.key, password=_no_password)
        return context
    with tempfile.NamedTemporaryFile("w", suffix=".key") as file:  # 0600; OpenSSL reads files only
        file.write(key)
        file.flush()
        context.load_cert_chain(tls.cert, file.name, password=_no_password)
    return context


def _no_password() -> str:
    """An encrypted key must fail, not ask a terminal."""
    return ""
