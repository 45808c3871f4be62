"""Defects of the door: requests in groups, within limits, on connections and without."""

from tests.defects.defect import Edit, defect

GROUPING = (
    defect(
        108,
        "whoever went before the turn of his request is stored all the same",
        Edit(
            "router/web/ingest_group.py",
            "            if request.disconnected:\n                continue\n",
            "",
        ),
        "unit/web/test_ingest_group.py::test_who_went_before_his_turn_is_nobody_s_delivery",
    ),
    defect(
        109,
        "small POSTs of one endpoint all go before those of another",
        Edit(
            "router/web/ingest_group.py",
            "        if ready:\n"
            "            self._ready.move_to_end(name)\n"
            "        else:\n"
            "            del self._ready[name]\n",
            "        if not ready:\n            del self._ready[name]\n",
        ),
        "wire/test_scenes.py::test_a_busy_endpoint_does_not_hold_up_another",
    ),
    defect(
        110,
        "an endpoint's limit is not asked where a body is small",
        (
            Edit(
                "router/web/ingest.py",
                "request.length > endpoint.body_max:",
                "request.length > max(endpoint.body_max, SMALL_BYTES):",
            ),
            Edit(
                "router/web/ingest.py",
                "request.body_max = endpoint.body_max",
                "request.body_max = max(endpoint.body_max, SMALL_BYTES)",
            ),
        ),
        "wire/test_rows.py::test_it_is_as_the_row_says[a length above the limit]",
    ),
    defect(
        375,
        "a sender whose body is here is told to send it",
        Edit(
            "router/web/protocol.py",
            '            request.expects = head.expects and version == "1.1"\n',
            "            if head.expects:\n                self.transport.write(_CONTINUE)\n",
        ),
        "wire/test_rows.py::test_it_is_as_the_row_says[no leave to send what is here]",
    ),
    defect(
        376,
        "one who pipelines and reads nothing has all of it answered",
        Edit(
            "router/web/bounded_connection.py",
            "        if self._write_paused:\n            return\n",
            "",
        ),
        "unit/web/test_phases.py::test_a_phase_ends",
    ),
    defect(
        377,
        "a small chunked request has a commit of its own",
        Edit(
            "router/web/ingest.py",
            "request.endpoint.waits or size > SMALL_BYTES:",
            "request.endpoint.waits or size != request.length:",
        ),
        "unit/web/test_ingest_group.py::test_small_bodies_go_in_groups_however_they_are_sent",
    ),
    defect(
        410,
        "a head in two pieces may be longer than a whole one",
        Edit("router/web/protocol.py", "        self._head.cut = True\n", ""),
        "wire/test_rows.py::test_it_is_as_the_row_says[a head of 1.1 KB in pieces]",
    ),
    defect(
        411,
        "a late answer is counted without its endpoint if garbage came behind the request",
        Edit("router/web/bounded_connection.py", " if active is None else active.path", ""),
        "wire/test_rows.py::test_it_is_as_the_row_says[no answer, garbage behind]",
    ),
)
