"""The router of a soak: its rules, its script and its plugin. No I/O but the laying out."""

from pathlib import Path

from tests.acceptance.process import Rig
from tests.acceptance.senders import CODE_ID, MAIL_ID, SHOP_ID, environ

CALL_S = 5
"""What a call of the target may take."""
MIB = 1024 * 1024
NOTES = "notes"
"""The file into which script and plugin write, below the rig's folder: `KIND/NUMBER JOB`."""
SCRIPT = '#!/bin/sh\nexec echo "shell/$1 $WEBHOOK_JOB" >>notes\n'
PLUGIN = """
from pathlib import Path

def note(event, context, number):
    with Path("notes").open("a") as notes:
        notes.write(f"python/{number} {event.idempotency_key}\\n")
    return number
"""
RULES = """
secrets:
  shop: {env: SHOP_SECRET}
  mail: {env: MAIL_KEY}
  code: {env: CODE_SECRET}
endpoints:
  shop: {id: SHOP_ID, provider: commerce, secrets: shop, dedupe: {window: KEPT}}
  mail: {id: MAIL_ID, provider: email, secrets: mail, dedupe: {window: KEPT}}
  code: {id: CODE_ID, provider: code-host, secrets: code, dedupe: {window: KEPT}}
retries: {quick: {schedule: [200ms, 500ms, 1s, 2s, 4s, 8s, 8s, 15s, 15s, 30s, 30s], jitter: 0.1}}
targets:
  sink: {url: SINK, timeout: CALL_S}
  flaky: {url: SINK, timeout: CALL_S}
rules:
  - id: code
    from: code
    events: push
    actions: {http: {target: sink, path: 'CODE'}, retry: quick}
  - {id: shop, from: shop, actions: {http: {target: flaky, path: 'SHOP'}, retry: quick}}
  - {id: mail, from: mail, actions: {http: {target: sink, path: 'MAIL'}, retry: quick}}
  - {id: gone, from: code, events: release, actions: {http: {target: sink, path: 'GONE'}}}
  - id: chain
    from: code
    events: push
    match: payload.lane == 'l1'
    actions:
      - {id: first, python: {call: 'soaked:note', args: {number: NUMBER}}, retry: quick}
      - {id: then, after: first, http: {target: sink, path: 'THEN'}, retry: quick}
  - id: command
    from: code
    events: push
    match: payload.lane == 'l2'
    actions: {shell: {argv: [./note, NUMBER], stdin: none}, retry: quick}
"""
NUMBER = "{{ payload.number }}"


def lay_out(folder: Path, sink: str, kept_s: int, environment: dict[str, str]) -> Rig:
    """
    All that the router needs, in `folder`; it calls `sink`, and keeps what has ended and dedupe
    keys for `kept_s` seconds.
    """
    (folder / "plugins").mkdir(parents=True)
    (folder / "plugins" / "soaked.py").write_text(PLUGIN)
    (folder / "note").write_text(SCRIPT)
    (folder / "note").chmod(0o755)
    (folder / NOTES).touch()
    kept = f"{kept_s}s"
    retention = f"  retention: {{succeeded: {kept}, unmatched: {kept}, dead: {kept}}}\n"
    text = RULES.replace("KEPT", kept).replace("CALL_S", f"{CALL_S}s").replace("SINK", sink)
    for name, id_ in (("SHOP_ID", SHOP_ID), ("MAIL_ID", MAIL_ID), ("CODE_ID", CODE_ID)):
        text = text.replace(name, id_)
    for kind in ("code", "shop", "mail", "gone", "then"):
        text = text.replace(f"'{kind.upper()}'", f"'/{kind}/{NUMBER}'")
    text = text.replace("NUMBER", f"'{NUMBER}'")
    return Rig(folder, text, {**environ(), **environment}, server=f"  grace: 10s\n{retention}")
