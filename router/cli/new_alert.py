"""`router new alert`: a rule that tells somebody what the router reports, with its test."""

import re
from pathlib import Path

import click
import msgspec

from router.cli.files import write_new
from router.cli.output import printed
from router.cli.templates import filling, template
from router.errors import UsageError, os_errors_refused

PLUGIN = "plugins/alert_mail.py"
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")


class Way(msgspec.Struct, frozen=True):
    """
    How somebody is told: the action in YAML, the part of its call that has the text, and the
    variable of its secret. ADDRESS stands for what is given.
    """

    about: str
    action: str
    sent: str
    secret: str
    variable: str
    where: str


class AlertTexts(msgspec.Struct, frozen=True):
    """What is told, and when; how somebody is told."""

    events: dict[str, str]
    ways: dict[str, Way]


def make(*, file: str | None, to: str, address: str | None, as_json: bool) -> None:
    """
    Print the rules file, or write it where no file is; with the plugin that sends e-mail.

    Raises:
        UsageError: an e-mail without an address or a file, or the file is there already.
    """
    alerts = filling("alerts.yaml", AlertTexts)
    text, variable = _text(alerts, to, address), alerts.ways[to].variable
    if file is None:
        if address is not None:
            raise UsageError(f"name a file: {PLUGIN} is written beside it")
        if not printed({"rules": text, "variable": variable}, as_json=as_json):
            click.echo(text, nl=False)
        return
    path = Path(file)
    _write(path, text)
    if address is not None and not (path.parent / PLUGIN).exists():  # one serves several alerts
        _write(path.parent / PLUGIN, template("alert_mail.py"))
    if printed({"file": file, "variable": variable}, as_json=as_json):
        return
    click.echo(f"{path} is written. Next:")
    click.echo(f"  {variable}=… in the environment of `router serve`")
    click.echo(f"  include: [{path.name}] in your rules file, then `router test`")


def _write(path: Path, text: str) -> None:
    with os_errors_refused(f"cannot write {path}"):
        path.parent.mkdir(exist_ok=True)
    write_new(path, text)


def _text(alerts: AlertTexts, to: str, address: str | None) -> str:
    """The file's text. Raises UsageError: an e-mail needs an address, and only one can have it."""
    way = alerts.ways[to]
    if (address is not None) != ("ADDRESS" in way.action):
        raise UsageError("--to email needs --address, and nothing else takes it")
    if address is not None and not _ADDRESS.fullmatch(address):
        raise UsageError(f"--address {address!r} is no e-mail address")
    wide = max(map(len, alerts.events))
    told = [f"      - {name:{wide}}   # {words}" for name, words in alerts.events.items()]
    return template("alert.txt").format(
        to=to,
        way=way,
        events="\n".join(told),
        action=way.action.replace("ADDRESS", address or ""),
        kind=way.action.strip().partition(":")[0],
    )
