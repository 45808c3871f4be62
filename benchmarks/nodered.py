"""
Node-RED: an `http in` node that keeps the raw body, a function that checks the signature.

It has no node for signatures, so a function node does it with Node's own crypto, as its users do.
Then a switch on the branch, and a function that logs a line and counts.
"""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.pace import connect, read_answer
from tests.acceptance.process import free_ports
from tests.acceptance.senders import CODE_KEY

NAME = "node-red"
PATH = "/hooks/push"
COUNT = "/fired"
SETTINGS = """\
module.exports = {
  uiHost: "127.0.0.1", uiPort: %(port)d, flowFile: "flows.json", credentialSecret: false,
  disableEditor: true, httpAdminRoot: false, functionExternalModules: true,
  externalModules: {autoInstall: false, palette: {allowInstall: false}},
  telemetry: {enabled: false, updateNotification: false},
};
"""
VERIFY = """\
const expected = Buffer.from('sha256='
  + crypto.createHmac('sha256', '%(key)s').update(msg.payload).digest('hex'));
const given = Buffer.from(msg.req.headers['x-hub-signature-256'] || '');
const good = given.length === expected.length && crypto.timingSafeEqual(given, expected);
const answer = {req: msg.req, res: msg.res, payload: '', statusCode: good ? 200 : 401};
return good ? [{payload: JSON.parse(msg.payload)}, answer] : [null, answer];
"""
NOTE = """\
node.log('push to ' + msg.payload.repository.full_name);
flow.set('fired', (flow.get('fired') || 0) + 1);
"""
TELL = "msg.payload = String(flow.get('fired') || 0); return msg;"


def flows() -> list[dict[str, Any]]:
    crypto = [{"var": "crypto", "module": "crypto"}]
    main = {"t": "eq", "v": "refs/heads/main", "vt": "str"}
    verify = VERIFY % {"key": CODE_KEY}
    raw = {"url": PATH, "method": "post", "skipBodyParsing": True}
    switch = {"property": "payload.ref", "propertyType": "msg", "rules": [main], "outputs": 1}
    return [
        {"id": "id-tab", "type": "tab", "label": "push"},
        node("in", "http in", ["verify"], **raw),
        node("verify", "function", ["switch"], ["answer"], func=verify, outputs=2, libs=crypto),
        node("switch", "switch", ["note"], **switch, checkall="true"),
        node("note", "function", func=NOTE, outputs=0),
        node("asked", "http in", ["tell"], url=COUNT, method="get"),
        node("tell", "function", ["answer"], func=TELL, outputs=1),
        node("answer", "http response", statusCode=""),
    ]


def node(name: str, kind: str, *wires: list[str], **settings: Any) -> dict[str, Any]:
    """A node; ids look like nothing else, for a property that equals one is taken for a link."""
    linked = [[f"id-{one}" for one in wire] for wire in wires]
    return {"id": f"id-{name}", "type": kind, "z": "id-tab", "wires": linked, **settings}


@contextmanager
def serve(folder: Path) -> Iterator[int]:
    (port,) = free_ports(1)
    folder.mkdir()
    (folder / "flows.json").write_text(json.dumps(flows()), "utf-8")
    settings = folder / "settings.js"
    settings.write_text(SETTINGS % {"port": port}, "utf-8")
    found = peers.program(NAME) or NAME
    command = [found, "--userDir", str(folder), "--settings", str(settings)]
    environ = {"HOME": str(folder)}
    with peers.running(command, port, log=folder / "output.log", environ=environ):
        yield port


def fired(folder: Path, port: int) -> int:
    """How often the last function has run."""
    del folder
    with closing(connect(port)) as link:
        link.sendall(f"GET {COUNT} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        return int(read_answer(link).rpartition(b"\r\n\r\n")[2] or 0)
