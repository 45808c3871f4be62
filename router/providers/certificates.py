"""
Certificates that senders sign with: whose they are, whether they hold, who vouches for them.

cryptography is imported where a certificate is first read: it costs tens of milliseconds.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from router.providers import keys
from router.providers.keys import UnusableKeyError

BYTES_MAX = 64 * 1024
CHAIN_MAX = 8

Roots = Callable[[], Sequence[Any]]


@cache
def trusted_roots() -> tuple[Any, ...]:
    """The authorities that calls of ours trust too, as far as they can be read."""
    import httpx  # noqa: PLC0415

    known = httpx.create_ssl_context(trust_env=False).get_ca_certs(binary_form=True)
    with warnings.catch_warnings():
        # Old roots number themselves 0: the library says that it will not read such any longer.
        warnings.simplefilter("ignore")
        return tuple(root for der in known for root in _root(der))


def _root(der: bytes) -> Iterator[Any]:
    from cryptography import x509  # noqa: PLC0415

    with suppress(ValueError):
        yield x509.load_der_x509_certificate(der)


def public_key(text: bytes, names: Iterable[str], now_ms: int) -> bytes:
    """
    The public key (PEM) of the first certificate of a text, which is for one of these names and
    holds now.

    Raises:
        UnusableKeyError: it is not.
    """
    leaf, now = _read(text)[0], datetime.fromtimestamp(now_ms / 1000, UTC)
    if not leaf.not_valid_before_utc <= now <= leaf.not_valid_after_utc:
        raise UnusableKeyError("the certificate has expired, or does not hold yet")
    if not _names(leaf) & set(names):
        raise UnusableKeyError("the certificate is for another name")
    return _public_pem(text)


def vouched(text: bytes, names: Sequence[str], now_ms: int, roots: Roots) -> None:
    """
    Whether the chain of a certificate leads to a trusted root, as for a server of that name.

    Raises:
        UnusableKeyError: it does not.
    """
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509 import verification as v  # noqa: PLC0415

    public_key(text, names, now_ms)
    leaf, *others = _read(text)
    now = datetime.fromtimestamp(now_ms / 1000, UTC).replace(tzinfo=None)
    for name in sorted(_names(leaf) & set(names)):
        policy = v.PolicyBuilder().store(v.Store(list(roots()))).time(now)
        try:
            policy.build_server_verifier(x509.DNSName(name)).verify(leaf, others)
        except (v.VerificationError, ValueError):
            continue
        return
    raise UnusableKeyError("the certificate's chain leads to no trusted root")


@lru_cache(maxsize=64)
def _read(text: bytes) -> tuple[Any, ...]:
    from cryptography import x509  # noqa: PLC0415

    if len(text) > BYTES_MAX or text.count(b"-----BEGIN") > CHAIN_MAX:
        raise UnusableKeyError(f"a certificate with its chain is shorter than {BYTES_MAX} bytes")
    try:
        found = tuple(x509.load_pem_x509_certificates(text))
        keyed = found[0].public_key()
    except Exception:  # noqa: BLE001 - whatever the library makes of it, it is no certificate
        raise UnusableKeyError("this is no certificate in PEM") from None
    if keys.algorithm_of(keyed) != "RS256":
        raise UnusableKeyError("the certificate's key is not RSA (2048 bits)")
    return found


@lru_cache(maxsize=64)
def _public_pem(text: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415

    public = _read(text)[0].public_key()
    return bytes(public.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))


def _names(leaf: Any) -> set[str]:
    from cryptography import x509  # noqa: PLC0415

    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except Exception:  # noqa: BLE001 - none, or a malformed one: it is for nobody
        return set()
    return {name.lower() for name in found.value.get_values_for_type(x509.DNSName)}


def self_signed(private: Any, names: Sequence[str]) -> bytes:
    """A certificate (PEM) that nobody vouches for: what trials take for a published one."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415

    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    builder = x509.CertificateBuilder(name, name, private.public_key(), 1)
    builder = builder.not_valid_before(datetime(1970, 1, 2)).not_valid_after(datetime(9999, 1, 1))  # noqa: DTZ001 - in UTC
    alternative = x509.SubjectAlternativeName([x509.DNSName(one) for one in names])
    made = builder.add_extension(alternative, critical=False).sign(private, hashes.SHA256())
    return bytes(made.public_bytes(serialization.Encoding.PEM))
