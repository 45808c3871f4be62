"""Each sender's own library as a judge: headers, body, secret and time in; genuine or not out."""

import io
import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from datetime import datetime
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from router.providers import ed25519

ADDRESS = "https://hooks.example.com/wh_x"
"""What the senders were told, for those that sign it."""
TEXTS = ('{"type":"made","n":1.50}', "[]", "", "é✓ \\u00e9", "a=1&b=%20", "line\r\nline\n", "\x00")

Judge = Callable[[Mapping[str, str], bytes, bytes, int], bool]
"""(headers in their usual spelling, body, secret, now in Unix seconds): is it genuine?"""


class Library(msgspec.Struct, frozen=True):
    """A library of a sender: our provider's name, its package, its judge; of what bodies are."""

    provider: str
    package: str
    judge: Judge
    texts: tuple[str, ...] = TEXTS

    @property
    def installed(self) -> bool:
        """Can it be asked here?"""
        try:
            import_module(self.package)
        except ImportError:
            return False
        return True


def _standard_webhooks(headers: Mapping[str, str], body: bytes, secret: bytes, _now_s: int) -> bool:
    """It reads the clock itself, so that cases are made around the present."""
    module: Any = import_module("standardwebhooks.webhooks")
    try:
        module.Webhook(secret.decode()).verify(body, dict(headers), json_parse=False)
    except (module.WebhookVerificationError, ValueError):
        return False
    return True


def _svix(headers: Mapping[str, str], body: bytes, secret: bytes, now_s: int) -> bool:
    """Svix's own library only renames the headers, and asks the one of Standard Webhooks."""
    renamed = {name.replace("svix-", "webhook-"): value for name, value in headers.items()}
    return _standard_webhooks(renamed, body, secret, now_s)


def _stripe(headers: Mapping[str, str], body: bytes, secret: bytes, now_s: int) -> bool:
    module: Any = import_module("stripe")
    header = headers.get("Stripe-Signature", "")
    try:
        # Without its tolerance, which its own clock would judge.
        module.WebhookSignature.verify_header(body.decode(), header, secret.decode(), None)
    except module.SignatureVerificationError:
        return False
    stamps = [part[2:] for part in header.split(",") if part.startswith("t=")]
    return abs(now_s - int(stamps[0])) <= 300


def _slack(headers: Mapping[str, str], body: bytes, secret: bytes, now_s: int) -> bool:
    module: Any = import_module("slack_sdk.signature")

    class Clock:
        def now(self) -> float:
            return float(now_s)

    verifier = module.SignatureVerifier(secret.decode(), clock=Clock())
    return bool(verifier.is_valid_request(body, dict(headers)))


def _sendgrid(headers: Mapping[str, str], body: bytes, secret: bytes, _now_s: int) -> bool:
    module: Any = import_module("sendgrid.helpers.eventwebhook")
    bare = "".join(secret.decode().splitlines()[1:-1])
    signature = headers.get("X-Twilio-Email-Event-Webhook-Signature", "")
    stamp = headers.get("X-Twilio-Email-Event-Webhook-Timestamp", "")
    hook = module.EventWebhook(bare)
    return bool(hook.verify_signature(body.decode(), signature, stamp))


def _adyen(_headers: Mapping[str, str], body: bytes, secret: bytes, _now_s: int) -> bool:
    """It judges one item."""
    module: Any = import_module("Adyen.util")
    try:
        return bool(module.is_valid_hmac_notification(json.loads(body), secret.decode()))
    except (ValueError, KeyError, TypeError):
        return False


def _box(headers: Mapping[str, str], body: bytes, secret: bytes, now_s: int) -> bool:
    """Without its tolerance, which its own clock would judge."""
    module: Any = import_module("box_sdk_gen.internal.utils")
    about = {"box-signature-version": "1", "box-signature-algorithm": "HmacSHA256"}
    sent = {name.lower(): value for name, value in headers.items()} | about
    if "box-delivery-timestamp" not in sent:
        return False
    made = module.compute_webhook_signature(body.decode(), sent, secret.decode())
    age_s = now_s - datetime.fromisoformat(sent["box-delivery-timestamp"]).timestamp()
    fits = module.compare_signatures(made, sent.get("box-signature-primary"))
    return bool(fits) and abs(age_s) <= 600


class _Form:
    """A form's fields, as web frameworks hand them to a library."""

    def __init__(self, body: bytes) -> None:
        self._pairs = parse_qsl(body.decode(), keep_blank_values=True)

    def __iter__(self) -> Any:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def getall(self, name: str) -> list[str]:
        return [value for other, value in self._pairs if other == name]


def _twilio(headers: Mapping[str, str], body: bytes, secret: bytes, _now_s: int) -> bool:
    module: Any = import_module("twilio.request_validator")
    validator = module.RequestValidator(secret.decode())
    return bool(validator.validate(ADDRESS, _Form(body), headers.get("X-Twilio-Signature", "")))


def _square(headers: Mapping[str, str], body: bytes, secret: bytes, _now_s: int) -> bool:
    module: Any = import_module("square.utils.webhooks_helper")
    return bool(
        module.verify_signature(
            request_body=body.decode(),
            signature_header=headers.get("x-square-hmacsha256-signature", ""),
            signature_key=secret.decode(),
            notification_url=ADDRESS,
        )
    )


def _discord(headers: Mapping[str, str], body: bytes, secret: bytes, now_s: int) -> bool:
    """It judges no age; that is ours alone."""
    module: Any = import_module("discord_interactions")
    stamp = headers.get("X-Signature-Timestamp", "")
    signature = headers.get("X-Signature-Ed25519", "")
    public = ed25519.load_public(secret).public_bytes_raw().hex()
    with redirect_stdout(io.StringIO()):  # it prints why not
        genuine = module.verify_key(body, signature, stamp, public)
    return bool(genuine) and abs(now_s - int(stamp)) <= 900


LIBRARIES = (
    Library("adyen", "Adyen", _adyen),
    Library("box", "box_sdk_gen", _box),
    Library("standard-webhooks", "standardwebhooks", _standard_webhooks),
    Library("resend", "standardwebhooks", _svix),
    Library("clerk", "standardwebhooks", _svix),
    Library("stripe", "stripe", _stripe),
    Library("slack", "slack_sdk", _slack),
    Library("sendgrid", "sendgrid", _sendgrid),
    Library("twilio", "twilio", _twilio),
    # It calls no empty body genuine.
    Library("square", "square", _square, tuple(text for text in TEXTS if text)),
    Library("discord", "discord_interactions", _discord),
)
