"""Defects of the signal that tells what other routers do."""

from tests.defects.defect import Edit, defect

_CHANGES = "unit/serving/test_store_changes.py"

ASKING_OTHERS = (
    defect(
        165,
        "the ledger is read for the feed though nobody watches any more",
        Edit(
            "router/web/signal.py", "                self.heard.clear()\n", "                pass\n"
        ),
        f"{_CHANGES}::test_nobody_asks_while_nobody_listens",
    ),
)
