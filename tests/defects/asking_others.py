"""Defects of what a router asks of others, and of the signal that tells what they do."""

from tests.defects.defect import Edit, defect

_CALL = "unit/serving/test_other_nodes.py"
_CHANGES = "unit/serving/test_store_changes.py"

ASKING_OTHERS = (
    defect(
        159,
        "the token of all routers goes where a redirect leads",
        Edit(
            "router/serving/node_client.py",
            "        follow_redirects=False,\n",
            "        follow_redirects=True,\n",
        ),
        f"{_CALL}::test_no_token_goes_where_a_redirect_leads",
    ),
    defect(
        160,
        "a router that another one asks asks all others in turn",
        Edit(
            "router/serving/running.py",
            'not {node[:20]}")\n        return None\n',
            'not {node[:20]}")\n        return others\n',
        ),
        f"{_CALL}::test_who_is_asked_by_another_asks_nobody",
    ),
    defect(
        161,
        "whoever has the address of a router now answers for it",
        Edit(
            "router/serving/running.py",
            "        if node != others.node():\n",
            "        if False:\n",
        ),
        f"{_CALL}::test_who_is_asked_by_another_asks_nobody",
    ),
    defect(
        162,
        "the token is shown at the address of a router that is gone",
        Edit(
            "router/serving/other_nodes.py",
            "await self._reads.nodes() if not one.gone]",
            "await self._reads.nodes()]",
        ),
        f"{_CALL}::test_who_cannot_be_asked_is_named_and_the_others_answer",
    ),
    defect(
        163,
        "a router with a certificate shows the token to one without",
        Edit(
            "router/serving/node_client.py",
            'if self._tls is not None and not address.startswith("https:"):',
            "if False:",
        ),
        f"{_CALL}::test_who_has_a_certificate_asks_nobody_without",
    ),
    defect(
        165,
        "the ledger is read for the feed though nobody watches any more",
        Edit(
            "router/web/signal.py", "                self.heard.clear()\n", "                pass\n"
        ),
        f"{_CHANGES}::test_nobody_asks_while_nobody_listens",
    ),
)
