"""Defects of the short way in: small POSTs that go through the intake in groups."""

from tests.defects.defect import Edit, defect

SHORT_WAY = (
    defect(
        108,
        "whoever went before the turn of his request is stored all the same",
        Edit(
            "router/web/ingest_group.py",
            "            if post.disconnected:\n                continue\n",
            "",
        ),
        "wire/test_scenes.py::test_who_goes_before_his_turn_is_nobody_s_delivery",
    ),
    defect(
        109,
        "small POSTs of one endpoint all go before those of another",
        Edit(
            "router/web/ingest_group.py",
            "        if waiting:\n"
            "            self._ready.move_to_end(name)\n"
            "        else:\n"
            "            del self._ready[name]\n",
            "        if not waiting:\n            del self._ready[name]\n",
        ),
        "wire/test_scenes.py::test_a_busy_endpoint_does_not_hold_up_another",
    ),
    defect(
        110,
        "an endpoint's limit is not asked where a body is small",
        Edit(
            "router/web/protocol.py",
            "if endpoint is None or self._head.length > endpoint.body_max:",
            "if endpoint is None:",
        ),
        "wire/test_rows.py::test_it_is_as_the_row_says[a length above the limit]",
    ),
)
