"""Defects of the feed that shows what other routers do."""

from tests.defects.defect import Edit, defect

_FEED = "unit/serving/test_shared_feed.py"

ASKING_OTHERS = (
    defect(
        164,
        "an attempt on another router is told again with every look",
        Edit(
            "router/serving/shared_feed.py",
            "            if known not in self._told:\n",
            "            if True:\n",
        ),
        f"{_FEED}::test_attempts_of_other_routers_are_told_once",
    ),
    defect(
        165,
        "the ledger is read for the feed though nobody watches any more",
        Edit(
            "router/web/feed.py", "                self.watched.clear()\n", "                pass\n"
        ),
        f"{_FEED}::test_nobody_reads_while_nobody_watches",
    ),
)
