"""`router new alert`: a rule that tells somebody what the router reports, with its test."""

import re
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from router.cli.output import print_json
from router.errors import UsageError

EVENTS = {
    "jobs.dead": "dead letters, however many: at once, then every 10 minutes at most",
    "target.failing": "calls are suspended until it answers again",
    "target.paused": "by hand, or after 120 h of failures",
    "endpoint.refusing": "more requests are refused than accepted",
    "endpoint.silent": "of endpoints with `expect_every`",
    "rule.failing": "its condition errs",
    "reload.failed": "the changed rules file is wrong",
    "store.filling": "80 % of `max_size`, or 95 % of the disk",
    "secret.expiring": "7 days before, and 1",
    "certificate.expiring": "of our listeners: 21 days before, 7, and 1",
    "rules.differ": "between routers of one database",
}
"""What is told, and when."""


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


WAYS: Mapping[str, Way] = {
    "slack": Way(
        "A message in a channel of Slack",
        """\
      http:
        url: "{{ secret.slack_url }}"
        json:
          # Slack reads these three as its own marks.
          text: "{{ replace(replace(replace(payload.text,
            '&', '&amp;'), '<', '&lt;'), '>', '&gt;') }}"
""",
        "json: {text: erp &amp; crm are down}",
        "slack_url",
        "SLACK_WEBHOOK_URL",
        "your Slack app, Incoming Webhooks",
    ),
    "email": Way(
        "An e-mail, by plugins/alert_mail.py",
        """\
      python:
        call: alert_mail:send
        args:
          sender: ADDRESS
          to: ADDRESS
          subject: "router: {{ event }}"
          text: "{{ payload.text }}"
        secrets: [smtp_url]
    retry: standard
""",
        "args: {text: erp & crm are down}",
        "smtp_url",
        "SMTP_URL",
        "smtps://USER:PASSWORD@smtp.example.net, smtp://… with STARTTLS, or smtp://localhost:25",
    ),
    "discord": Way(
        "A message in a channel of Discord",
        """\
      http:
        url: "{{ secret.discord_url }}"
        json: {content: "{{ payload.text }}", allowed_mentions: {parse: []}}
""",
        "json: {content: erp & crm are down}",
        "discord_url",
        "DISCORD_WEBHOOK_URL",
        "the channel's settings, Integrations, Webhooks",
    ),
    "teams": Way(
        "A card in a channel of Teams",
        """\
      http:
        url: "{{ secret.teams_url }}"
        json:
          type: message
          attachments:
            - contentType: application/vnd.microsoft.card.adaptive
              content:
                $schema: http://adaptivecards.io/schemas/adaptive-card.json
                type: AdaptiveCard
                version: "1.4"
                body: [{type: TextBlock, wrap: true, text: "{{ payload.text }}"}]
""",
        "json: {type: message}",
        "teams_url",
        "TEAMS_WEBHOOK_URL",
        "the channel's Workflows, `Send webhook alerts to a channel`",
    ),
    "pagerduty": Way(
        "An incident in PagerDuty, one for each event and thing",
        """\
      http:
        url: https://events.pagerduty.com/v2/enqueue   # in the EU: events.eu.pagerduty.com
        json:
          routing_key: "{{ secret.pagerduty_key }}"
          event_action: trigger
          dedup_key: "router {{ event }} {{ not_null(payload.target, payload.endpoint,
            payload.rule, payload.secret, payload.certificate, payload.cause, '') }}"
          payload:
            summary: "{{ payload.text }}"
            source: router
            severity: error
            custom_details: "{{ payload }}"
""",
        "json: {payload: {summary: erp & crm are down}}",
        "pagerduty_key",
        "PAGERDUTY_ROUTING_KEY",
        "the service's Integrations, Events API v2",
    ),
    "ntfy": Way(
        "A notification on every phone that follows a topic of ntfy",
        """\
      http:
        url: "{{ secret.ntfy_url }}"
        headers: {Title: "router: {{ event }}", Priority: high}
        text: "{{ payload.text }}"
""",
        "headers: {priority: high}",
        "ntfy_url",
        "NTFY_URL",
        "https://ntfy.sh/ and a topic that nobody guesses",
    ),
    "webhook": Way(
        "The event as JSON, to a service of your own",
        """\
      http:
        url: "{{ secret.alert_url }}"
        json: {event: "{{ event }}", text: "{{ payload.text }}", details: "{{ payload }}"}
""",
        "json: {text: erp & crm are down}",
        "alert_url",
        "ALERT_WEBHOOK_URL",
        "its address",
    ),
}

_FILE = """\
# Made by `router new alert`: what the router reports of itself.
version: 1

secrets:
  {way.secret}: {{env: {way.variable}}}   # {way.where}

rules:
  - id: alert-{to}
    about: {way.about}
    from: router
    events:
{events}
    actions:
{action}
tests:
  - name: what the router reports is told by {to}
    each: [{{event: jobs.dead}}, {{event: target.failing}}, {{event: reload.failed}}]
    send: {{endpoint: router, event: "{{{{ each.event }}}}", set: {{text: erp & crm are down}}}}
    expect: {{calls: {{alert-{to}/{kind}: {{times: 1, {way.sent}}}}}}}
"""
PLUGIN = "plugins/alert_mail.py"
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")


def make(*, file: str | None, to: str, address: str | None, as_json: bool) -> None:
    """
    Print the rules file, or write it where no file is; with the plugin that sends e-mail.

    Raises:
        UsageError: an e-mail without an address or a file, or the file is there already.
    """
    text, variable = written(to, address), WAYS[to].variable
    if file is None:
        if address is not None:
            raise UsageError(f"name a file: {PLUGIN} is written beside it")
        if as_json:
            print_json({"rules": text, "variable": variable})
        else:
            click.echo(text, nl=False)
        return
    path = Path(file)
    _write(path, text)
    if address is not None and not (path.parent / PLUGIN).exists():  # one serves several alerts
        _write(path.parent / PLUGIN, Path(__file__).with_name("alert_mail.py").read_text("utf-8"))
    if as_json:
        print_json({"file": file, "variable": variable})
        return
    click.echo(f"{path} is written. Next:")
    click.echo(f"  {variable}=… in the environment of `router serve`")
    click.echo(f"  include: [{path.name}] in your rules file, then `router test`")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def written(to: str, address: str | None) -> str:
    """The file's text. Raises UsageError: an e-mail needs an address, and only one can have it."""
    way = WAYS[to]
    if (address is not None) != ("ADDRESS" in way.action):
        raise UsageError("--to email needs --address, and nothing else takes it")
    if address is not None and not _ADDRESS.fullmatch(address):
        raise UsageError(f"--address {address!r} is no e-mail address")
    wide = max(map(len, EVENTS))
    return _FILE.format(
        to=to,
        way=way,
        events="\n".join(f"      - {name:{wide}}   # {words}" for name, words in EVENTS.items()),
        action=way.action.replace("ADDRESS", address or ""),
        kind=way.action.strip().partition(":")[0],
    )
