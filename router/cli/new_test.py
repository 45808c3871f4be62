"""`router new test`: a test made of a delivery that came."""

import os
import re
from pathlib import Path
from typing import Any

import click

from router.cli.files import write_whole
from router.cli.operator_access import ask
from router.cli.options import Options
from router.cli.output import note, printed
from router.config.yaml_json import yaml_json
from router.errors import os_errors_refused
from router.model.delivery import Delivery
from router.model.trial import Sending
from router.rehearsal import TrialRunner
from router.rehearsal.made_test import as_text, expected, sending_of, test_of

INLINE_MAX = 1_024
"""Bytes of a payload that stands in the test itself."""
PAYLOADS = "payloads"


def make(place: Options, identity: str) -> None:
    """
    Print the test, and write its payload into a file if that is large.

    Raises:
        NotFound, AmbiguousId: there is no such delivery, or several.
        UsageError: no test can be made of it; the text says why.
    """
    ruleset = place.ruleset()
    show = ask(place, lambda questions: questions.show(identity))
    delivery = show.delivery
    large = len(delivery.body) > INLINE_MAX
    sending = sending_of(ruleset, delivery, exact=large)
    runner = TrialRunner(ruleset, environ=os.environ, random_bytes=os.urandom)
    found = expected(runner, sending, delivery.received_at)
    payload: Any = sending.payload
    if large:
        payload = {"file": _written(place.rules, sending, delivery)}
    test = test_of(sending, payload, found, delivery)
    if not printed(test, as_json=place.as_json):
        click.echo(as_text(test), nl=False)


def _written(rules: Path, sending: Sending, delivery: Delivery) -> str:
    name = re.sub(r"[^\w.-]+", "-", sending.event) or "event"
    file = rules.parent / PAYLOADS / f"{name}-{delivery.id}.json"
    with os_errors_refused(f"cannot write {file}"):
        file.parent.mkdir(exist_ok=True)
        write_whole(file, (yaml_json(sending.payload, indent=2) + "\n").encode("utf-8"))
    note(f"{file} holds what the sender sent: look through it before others can read it")
    return f"{PAYLOADS}/{file.name}"
