"""What actions keep of what the world answers."""

import functools
from collections.abc import Iterable
from typing import Any

from router.actions.http_client.response import HttpAnswer
from router.kinds.http import HttpCall
from router.kinds.json_results import holds_json, json_of
from router.log import MASK, Redactor
from router.model.delivery import REMOVED

HEADERS_MAX = 16 * 1024
CREDENTIAL_WORDS = ("auth", "token", "key", "secret", "cookie", "password", "signature")
NOT_CREDENTIALS = frozenset({"idempotency-key"})


def result_of(call: HttpCall, answer: HttpAnswer, redactor: Redactor) -> dict[str, Any]:
    """
    What is stored of an answer to an http call: what the call sent as credentials, and what the
    redactor knows, is masked in it.
    """
    masks, cut = credentials(call), answer.cut
    kept = kept_headers(answer.headers, masks)
    text = masked(answer.body.decode("utf-8", "replace"), masks)
    result: dict[str, Any] = {"status": answer.status, "headers": kept, "text": text}
    known = cut or redactor.hits("\0".join([text, *kept, *kept.values()]))
    if known:
        result["headers"] = redactor.json_value(kept)
        result["text"] = text = redactor.cut_text(text, end=cut)
    if cut:
        result["truncated"] = True
    elif holds_json(kept, text):
        found = json_of(text)
        # Without an escape, every text in it stands in the whole text as it is.
        result |= redactor.json_value(found) if known or "\\" in text else found
    return result


def kept_headers(headers: Iterable[tuple[str, str]], masks: tuple[str, ...]) -> dict[str, str]:
    """The first 16 KiB of an answer's headers, named in lower case, by name; no cookie."""
    kept: dict[str, str] = {}
    room = HEADERS_MAX
    for name, value in headers:
        text = REMOVED if name == "set-cookie" else masked(_storable(value), masks)
        room -= len(name) + len(text)
        if room < 0:
            break
        kept[name] = f"{kept[name]}, {text}" if name in kept else text
    return kept


def _storable(value: str) -> str:
    """The value without lone surrogates, which stand in it for bytes that are no UTF-8."""
    if value.isascii():
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def credentials(call: HttpCall) -> tuple[str, ...]:
    """What a target must not be able to echo into our records: the credentials just sent."""
    masks = []
    for index in _credential_headers(tuple([name for name, _ in call.headers])):
        value = call.headers[index][1]
        masks += [value, value.rpartition(" ")[2]]
    if call.url != call.shown_url:
        masks += [call.url, call.url.partition("://")[2].partition("/")[2]]
    return tuple([mask for mask in masks if len(mask) >= 4])


@functools.lru_cache(maxsize=1024)
def _credential_headers(names: tuple[str, ...]) -> tuple[int, ...]:
    """Which of these headers hold credentials."""
    lowered = enumerate(name.lower() for name in names)
    return tuple(
        index
        for index, name in lowered
        if name not in NOT_CREDENTIALS and any(word in name for word in CREDENTIAL_WORDS)
    )


def masked(text: str, masks: tuple[str, ...]) -> str:
    """The text without these."""
    for mask in masks:
        text = text.replace(mask, MASK)
    return text
