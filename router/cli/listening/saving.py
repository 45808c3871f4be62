"""`--save DIR`: deliveries as files, for `router send --payload` and `router test`."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

from router.cli.files import write_whole
from router.config.yaml_json import yaml_json
from router.errors import os_errors_refused
from router.expressions import decode_json, is_json
from router.legible import moment
from router.model.packed import plain_body
from router.operator.followed_answers import FollowedDelivery

_SAFE = re.compile(r"[^A-Za-z0-9_-]+")
_WORD_MAX = 60


def saver(folder: Path) -> Callable[[FollowedDelivery], str]:
    """
    Keeps a delivery in `folder`, 0600, as

        NAME.body.json     its exact bytes, unpacked (.body if they are no JSON): `send --payload`
        NAME.request.json  method, path, headers and bytes, in one
        NAME.test.yaml     a test that sends it, if it is JSON

    and returns the path of the first. A delivery that comes twice takes the same names.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    with os_errors_refused(f"cannot make {folder}"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def save(arrived: FollowedDelivery) -> str:
        with os_errors_refused(f"cannot save in {folder}"):
            return _save(folder, arrived)

    return save


def name_of(arrived: FollowedDelivery) -> str:
    """Time, endpoint, event and id, of letters that mean nothing to a file system or a shell."""
    event = arrived.events[0].name if arrived.events else "unknown"
    time = moment(arrived.received_at).translate({ord(c): None for c in "-: Z"})
    return "-".join([time, _word(arrived.endpoint), _word(event), _word(arrived.id)])


def _word(text: str) -> str:
    return _SAFE.sub("_", text)[:_WORD_MAX] or "_"


def _save(folder: Path, arrived: FollowedDelivery) -> str:
    name = name_of(arrived)
    readable = is_json(plain := plain_body(arrived.delivery()))
    body = folder / f"{name}.body{'.json' if readable else ''}"
    write_whole(body, plain)
    request = {
        "delivery": arrived.id,
        "endpoint": arrived.endpoint,
        "events": [event.name for event in arrived.events],
        "received_at": arrived.received_at,
        "method": arrived.method,
        "path": arrived.path,
        "query": arrived.query,
        "headers": arrived.headers,
        "body_base64": base64.b64encode(arrived.body).decode("ascii"),
    }
    text = json.dumps(request, indent=2, ensure_ascii=False) + "\n"
    write_whole(folder / f"{name}.request.json", text.encode("utf-8"))
    if readable and arrived.events:
        write_whole(folder / f"{name}.test.yaml", _test(arrived))
    return str(body)


def _test(arrived: FollowedDelivery) -> bytes:
    payload = yaml_json(decode_json(plain_body(arrived.delivery())))
    event = arrived.events[0]
    return (
        "version: 1\n"
        "tests:\n"
        f"  - name: {json.dumps(f'{arrived.endpoint} {event.name} {arrived.id}')}\n"
        "    send:\n"
        f"      endpoint: {json.dumps(arrived.endpoint)}\n"
        f"      event: {json.dumps(event.name)}\n"
        f"      payload: {payload}\n"
        "    expect: {status: 200}\n"
    ).encode()
