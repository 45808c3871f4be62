"""The output of commands that run, for whoever looks on: what is kept anyway, read early."""

import codecs
from typing import Any

from router.actions.child import Child, Tail
from router.kinds.shell import ShellCall
from router.log.redacting import Redactor, beginning_of_one, end_of_one
from router.model.job import Job


class Watching:
    """
    The running commands by job.

    Nothing is copied until somebody asks: a command's last 64 KiB are in memory while it runs.
    What `redactor` knows is masked, as are the secrets among a command's variables.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._running: dict[str, tuple[int, Child, ShellCall]] = {}

    def began(self, job: Job, child: Child, call: ShellCall) -> None:
        """A job's command runs."""
        self._running[job.id] = (job.attempt, child, call)

    def ended(self, job: Job) -> None:
        """It runs no more."""
        self._running.pop(job.id, None)

    def output(self, job: str, after: str) -> dict[str, Any] | None:
        """
        What a running job has written since `after`, the `next` of an earlier answer or empty.

        None: no command of it runs here.
        """
        if (found := self._running.get(job)) is None:
            return None
        attempt, child, call = found
        masks = self._redactor.with_(secrets_of(call))
        secrets = tuple(form.encode("utf-8", "replace") for form in masks.forms)
        out_from, err_from = _places(after, attempt)
        out, out_next = _since(child.stdout, out_from, secrets)
        err, err_next = _since(child.stderr, err_from, secrets)
        return {
            "attempt": attempt,
            "stdout": out,
            "stderr": err,
            "next": f"{attempt}.{out_next}.{err_next}",
        }


def secrets_of(call: ShellCall) -> tuple[str, ...]:
    """The values of a command's variables that came from secrets."""
    return tuple(call.env[name] for name in call.secret_names if name in call.env)


def _places(after: str, attempt: int) -> tuple[int, int]:
    """Where reading goes on; from the beginning when it is another attempt's."""
    parts = after.split(".")
    if len(parts) != 3 or not all(p.isascii() and p.isdigit() and len(p) < 19 for p in parts):
        return 0, 0
    of, out, err = map(int, parts)
    return (out, err) if of == attempt else (0, 0)


def _since(stream: Tail, start: int, secrets: tuple[bytes, ...]) -> tuple[str, int]:
    """
    The text after so many bytes, and how many have been handed out then; secrets as asterisks.

    Bytes at the end that may be the beginning of a secret wait for the rest.
    """
    kept = stream.tail()
    for secret in secrets:  # as many bytes as before: places stay what they are
        kept = kept.replace(secret, b"*" * len(secret))
    if stream.cut:
        left = end_of_one(kept, secrets)
        kept = b"*" * left + kept[left:]
    end = stream.seen - beginning_of_one(kept, secrets)
    first = max(start, stream.seen - len(kept))
    if end <= first:
        return "", max(start, 0) if start <= stream.seen else end
    offset = len(kept) - (stream.seen - first)
    data = kept[offset : offset + end - first]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)  # it keeps the beginning of a letter whose rest has not come
    return text, end - len(decoder.getstate()[0])
