"""Imported hooks do what adnanh/webhook does with them."""

import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from tests.acceptance.process import Rig, RouterProcess, called
from tests.chance import examples, thinned
from tests.differential.webhook import corpus, peer
from tests.differential.webhook.alike import differences
from tests.differential.webhook.made import hooks_and_requests
from tests.differential.webhook.ours import ImportedRouter, rules_of
from tests.differential.webhook.requests import HookRequest

PARTS = 4
ALGORITHMS = ("sha1", "sha256", "sha512")

needs_webhook = pytest.mark.skipif(peer.PROGRAM is None, reason="webhook is not installed")


@pytest.mark.long
@needs_webhook
@pytest.mark.parametrize("part", thinned(range(PARTS), one_of=PARTS))
def test_imported_hooks_decide_and_run_as_webhook_does(tmp_path: Path, part: int) -> None:
    """Each part has something of everything."""
    cases = corpus.cases(time.time_ns() // 1_000_000)[part::PARTS]
    file = peer.with_recorder(corpus.hooks(), tmp_path)
    requests = [case.request for case in cases]
    with peer.webhook(file, tmp_path / "theirs") as port:
        theirs = peer.answers(port, requests, tmp_path / "theirs")
    ours = ImportedRouter(rules_of(file), tmp_path / "ours").answers(requests)
    for case, their, our in zip(cases, theirs, ours, strict=True):
        found = differences(their, our)
        assert bool(found) == bool(case.differs), f"{case}: {found}"


@pytest.mark.long
@needs_webhook
@settings(max_examples=examples(24), deadline=None, phases=[Phase.reuse, Phase.generate])
@given(made=hooks_and_requests())
def test_any_rule_decides_as_webhook_does(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[list[dict[str, Any]], list[HookRequest]]
) -> None:
    """A failure is shown as it was found: to make it smaller takes minutes of other processes."""
    hooks, requests = made
    folder = tmp_path_factory.mktemp("hooks")
    file = folder / "hooks.json"
    each = {"execute-command": "/is/not/there", "response-message": peer.RAN}
    file.write_text(json.dumps([each | hook for hook in hooks]))
    imported = rules_of(file)
    taken = set(ImportedRouter(imported, folder, runs=False).ruleset.endpoints)
    requests = [request for request in requests if request.hook in taken]
    with peer.webhook(file, folder) as port:
        theirs = peer.verdicts(port, requests)
    answers = ImportedRouter(imported, folder, runs=False).answers(requests)
    for request, their, ours in zip(requests, theirs, answers, strict=True):
        rule = next(hook["trigger-rule"] for hook in hooks if hook["id"] == request.hook)
        assert (ours.run is not None) == their, f"{rule}\n{request}\n{imported.text}"


@pytest.mark.parametrize("kind", ["hmac", "hash"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_signature_is_proved_by_the_algorithm_of_the_hook_and_by_no_other(
    tmp_path: Path, algorithm: str, kind: str
) -> None:
    rule = corpus.signed(algorithm=algorithm)
    rule["match"]["type"] = f"payload-{kind}-{algorithm}"
    hook = {"id": "h", "execute-command": "/bin/x", "trigger-rule": rule}
    file = tmp_path / "hooks.json"
    file.write_text(json.dumps([hook]))
    body = b'{"a": 1}'
    each = {name: hmac.new(corpus.SECRET.encode(), body, name).hexdigest() for name in ALGORITHMS}
    requests = [HookRequest("h", body, headers={"X-Sig": sign}) for sign in each.values()]
    answers = ImportedRouter(rules_of(file), tmp_path, runs=False).answers(requests)
    ran = [name for name, one in zip(each, answers, strict=True) if one.run is not None]
    assert ran == [algorithm]


@needs_webhook
@pytest.mark.long
def test_the_command_line_makes_rules_that_a_router_serves(tmp_path: Path) -> None:
    found = corpus.cases(time.time_ns() // 1_000_000)
    cases = [case for case in found if not case.differs]
    file, home = peer.with_recorder(corpus.hooks(), tmp_path), tmp_path / "ours"
    with peer.webhook(file, tmp_path / "theirs") as port:
        theirs = peer.answers(port, [case.request for case in cases], tmp_path / "theirs")
    rig = Rig(home, "", {"HOME": str(home)})
    rules, secrets = home / "imported.yaml", home / "secrets.env"
    place = ("--ip", "127.0.0.1", "--port", str(rig.listen))
    made = ("-o", str(rules), "--secrets", str(secrets))
    code, out, err = called(rig, "import", "webhook", str(file), *place, *made)
    assert (code, out) == (1, "")
    assert corpus.SECRET not in err
    values = dict(line.split("=", 1) for line in secrets.read_text().splitlines())
    admin = {"ROUTER_ADMIN": f"127.0.0.1:{rig.admin}"}
    router = RouterProcess(rules, rig.listen, rig.admin, rig.environ | values | admin)
    with router:
        due = [at for at, answer in enumerate(theirs) if answer.run]
        ours = peer.answers(rig.listen, [case.request for case in cases], home, due)
        assert router.stop() == 0
    assert len(list(home.glob("ran.*"))) == len(due)
    for case, their, our in zip(cases, theirs, ours, strict=True):
        assert not differences(their, our), case
