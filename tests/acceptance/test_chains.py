"""Chains and concurrency groups in the real process: killed in the midst, limits changed."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig
from tests.acceptance.senders import ENDPOINTS, code
from tests.ledger import SUCCEEDED, connect

pytestmark = pytest.mark.long

RULES = """
rules:
  - id: deploy
    from: code
    concurrency: {group: endpoint, limit: LIMIT}
    actions:
      - id: tell
        after: {run: ended}
        when: results.run.json.n > 0
        shell: {script: 'cat > told; echo "told $N" >> log', env: {N: "{{ results.run.json.n }}"}}
      - id: run
        shell:
          script: |
            cat > ran
            echo "began $N" >> log
            while test -e closed; do sleep 0.01; done
            echo "{\\"n\\": $N}"
          env: {N: "{{ payload.number }}"}
"""


def ran(rig: Rig) -> list[str]:
    log = rig.folder / "log"
    return log.read_text("utf-8").split("\n")[:-1] if log.exists() else []


def succeeded(store: Path) -> int:
    with connect(store) as db:
        found = db.execute("SELECT count(*) FROM jobs WHERE state = ?", (SUCCEEDED,)).fetchone()
    return int(found[0])


def test_i17_i23_runs_go_on_in_their_order_after_a_kill(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(RULES.replace("LIMIT", "1"))
    (rig.folder / "closed").touch()
    with rig.router() as router:
        for number in (1, 2, 3):
            assert send(rig, code(), number).status_code == 200
        router.until(lambda: ran(rig) == ["began 1"], "the first run")
        router.kill()
    (rig.folder / "closed").unlink()
    with rig.router() as router:
        router.until(lambda: succeeded(rig.store) == 6, "all runs")
    rest = [f"{word} {number}" for number in (1, 2, 3) for word in ("began", "told")]
    assert ran(rig) == ["began 1", *rest]


def test_i23_a_reload_with_a_higher_limit_lets_others_in(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(RULES.replace("LIMIT", "1"))
    (rig.folder / "closed").touch()
    with rig.router() as router:
        for number in (1, 2, 3):
            assert send(rig, code(), number).status_code == 200
        router.until(lambda: ran(rig) == ["began 1"], "the first run")
        rig.write(ENDPOINTS + RULES.replace("LIMIT", "2"))
        router.until(lambda: ran(rig) == ["began 1", "began 2"], "the second beside it")
        (rig.folder / "closed").unlink()
        router.until(lambda: succeeded(rig.store) == 6, "all runs")
