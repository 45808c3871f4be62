"""What a hook runs, as a `shell` action."""

import re
from typing import Any

from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.request_values import RequestValues
from router.config.spelling import GIVEN_VARIABLE

TIMEOUT = "1h"
"""webhook has no limit; a command that hangs must not hold one of the few places for ever."""
_NAMESPACE = "HOOK_"
_DECODE = 'base64 -d <"${0}" >"${0}.bin"; {0}="${0}.bin"; '


def shell_of(hook: Hook, values: RequestValues) -> dict[str, Any]:
    """The action's keys; what cannot be said is reported, and the hook is left out."""
    command, folder = (
        hook.text(hook.get(key)) for key in ("execute-command", "command-working-directory")
    )
    if not command:
        hook.refuse(hook.node, "without 'execute-command' nothing is run")
    beside = folder and not command.startswith(("/", "./", "../"))
    program = f"./{command}" if beside else command
    arguments = [values.template(given) for given in hook.parameters("pass-arguments-to-command")]
    env = {
        _variable(hook, given, given.name): values.template(given)
        for given in hook.parameters("pass-environment-to-command")
    }
    files, decoded = _files(hook, values)
    env = {name: text for name, text in env.items() if name not in files}
    argv = [program.replace("{{", "{{ '{{' }}"), *arguments]
    if decoded:
        code = "".join(_DECODE.format(name) for name in decoded) + 'exec "$@"'
        argv = ["sh", "-c", code, "sh", *argv]
    shell: dict[str, Any] = {"argv": argv, "stdin": "none"}
    shell |= {"cwd": folder} if folder else {}
    shell |= {"env": env} if env else {}
    shell |= {"files": files} if files else {}
    return {**shell, "timeout": TIMEOUT}


def _files(hook: Hook, values: RequestValues) -> tuple[dict[str, str], list[str]]:
    """The files by their variables, and those whose contents come in base64."""
    files: dict[str, str] = {}
    decoded = []
    for given in hook.parameters("pass-file-to-command"):
        name = _variable(hook, given, given.name.upper())
        files[name] = "body" if given.source == "raw-request-body" else values.template(given)
        if given.source == "string" and given.name == "body":
            files[name] = "{{ 'body' }}"
        if given.encoded:
            decoded.append(name)
    return files, decoded


def _variable(hook: Hook, given: HookParameter, name: str) -> str:
    found = given.variable or _NAMESPACE + name
    if GIVEN_VARIABLE.fullmatch(found):
        return found
    fit = re.sub(r"\W", "_", found, flags=re.ASCII)
    fit = fit if GIVEN_VARIABLE.fullmatch(fit) else _NAMESPACE + fit
    hook.differs(
        given.node,
        f"no variable of a command may be called '{found}' here; it is {fit}",
        f"say `envname: {fit}`",
    )
    return fit
