"""Calls: an action's parameters, rendered for one event, ready to run."""

from typing import Any

import msgspec

from router.model.settings import ShellLimits, Sign, Tls


class HttpCall(msgspec.Struct, frozen=True):
    """
    One HTTP request to send.

    `shown_url` and `shown_body` have their secrets masked, for logs and attempts; `url`,
    `headers` and `body` may hold secrets. `trace` is a W3C trace id and its flags, None when the
    headers have a traceparent already. `sign_keys` are the values of `sign.secrets`, `tls_key`
    that of `tls.key_secret`.
    """

    method: str
    url: str
    shown_url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    accept: tuple[tuple[int, int], ...]
    timeout_s: float
    connect_timeout_s: float = 5.0
    shown_body: bytes | None = None  # None: the same as `body`
    trace: tuple[str, str] | None = None
    sign: Sign | None = None
    sign_keys: tuple[bytes, ...] = ()
    tls: Tls | None = None
    tls_key: str | None = None

    def __repr__(self) -> str:
        return f"HttpCall({self.method} {self.shown_url})"


class ShellCall(msgspec.Struct, frozen=True):
    """
    One process to start. `argv` is complete (a script is already `sh -eu -c SCRIPT`).

    `env` is the whole environment of the child. `secret_names` are the variables of `env` whose
    values came from secrets: never shown. `files` are names of further variables and what the
    file, whose path each of them will hold, is to contain. `user` is the name of the user to run
    as, None for the router's own.
    """

    argv: tuple[str, ...]
    stdin: bytes | None
    env: dict[str, str]
    cwd: str
    timeout_s: float
    secret_names: frozenset[str] = frozenset()
    limits: ShellLimits | None = None
    user: str | None = None
    files: tuple[tuple[str, bytes], ...] = ()

    def __repr__(self) -> str:
        return f"ShellCall({self.argv!r})"


class LogCall(msgspec.Struct, frozen=True):
    """One line to log."""

    message: str
    level: str = "info"


class PythonCall(msgspec.Struct, frozen=True):
    """
    One function of a plugin to call in a child process.

    `event` has the fields of `router.plugin.Event` as JSON, but for its `body`. `env` is the whole
    environment, `cwd` the folder that holds `plugins/`. `hosts` are those that the operator wrote
    into `args`.
    """

    function: str
    args: dict[str, Any]
    secrets: dict[str, str]
    timeout_s: float
    event: dict[str, Any] = {}
    body: bytes = b""
    env: dict[str, str] = {}
    cwd: str = "."
    hosts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"PythonCall({self.function})"


Call = HttpCall | ShellCall | LogCall | PythonCall


def described(call: Call) -> dict[str, Any]:
    """The call as a JSON object for `--dry`, `show` and logs; no secret in it."""
    match call:
        case HttpCall():
            shown = call.body if call.shown_body is None else call.shown_body
            return {
                "kind": "http",
                "method": call.method,
                "url": call.shown_url,
                "body": shown[:65_536].decode("utf-8", "replace"),
            }
        case ShellCall():
            return {
                "kind": "shell",
                "argv": list(call.argv),
                "cwd": call.cwd,
                "env": {k: ("***" if k in call.secret_names else v) for k, v in call.env.items()},
            }
        case LogCall():
            return {"kind": "log", "message": call.message}
        case PythonCall():
            return {"kind": "python", "call": call.function, "args": call.args}
