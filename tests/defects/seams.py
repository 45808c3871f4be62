"""What strangers and operators hit: readers of bodies and headers, tokens, dates."""

from tests.defects.defect import Edit, defect

SEAMS = (
    defect(
        90,
        "what a rate did not use is saved up for ten seconds",
        Edit("router/dispatch/slots.py", "BURST_S = 0.1\n", "BURST_S = 10.0\n"),
        "unit/dispatch/test_slots.py::test_what_a_rate_did_not_use_is_not_saved_up",
    ),
    defect(
        91,
        "a Retry-After is read in the local time",
        Edit(
            "router/model/retry.py",
            "(found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()",
            "found.replace(tzinfo=None).timestamp()",
        ),
        "unit/actions/test_http.py::test_retry_after",
    ),
    defect(
        92,
        "wrong tokens lock the right one out",
        Edit(
            "router/web/admin/callers.py",
            "        if (found := await self.holder(token)) is not None:\n",
            "        if (found := await self.holder(token)) and not self._throttle.wait_s(peer):\n",
        ),
        "unit/web/admin/test_callers.py::"
        "test_too_many_guesses_slow_the_wrong_ones_of_an_address_and_no_right_one",
        "unit/web/pages/test_logging_in.py::"
        "test_wrong_tokens_hold_up_no_session_and_no_right_token",
        "acceptance/test_requests.py::test_wrong_tokens_lock_nobody_out",
    ),
    defect(
        93,
        "blanks after a header's value are part of it",
        Edit("router/web/protocol.py", "value.strip(BLANKS)", "value.lstrip(BLANKS)"),
        "wire/test_rows.py::test_it_is_as_the_row_says[a wrong proof, then the right one]",
        "acceptance/test_requests.py::test_blanks_around_header_values_change_nothing",
    ),
    defect(
        94,
        "JSON is indented however deep it is",
        Edit(
            "router/legible.py",
            "too_complex(body) is None and INDENT * indents(body) <= INDENTS_MAX",
            "body",
        ),
        "unit/test_legible.py::test_what_nests_too_deep_stays_as_it_came",
        "unit/test_legible.py::test_indents_do_not_make_a_body_many_times_as_long",
    ),
    defect(
        95,
        "a lease that sorts before the present one settles",
        Edit(
            "router/store/sqlite/settling.py",
            "jobs.lease = v.column2",
            "jobs.lease >= v.column2",
        ),
        "conformance/test_leasing.py::test_only_the_lease_settles",
        "conformance/test_leasing.py::test_a_fenced_settlement_spoils_no_other",
    ),
    defect(
        96,
        "a lease that sorts behind the present one settles",
        Edit(
            "router/store/sqlite/settling.py",
            "jobs.lease = v.column2",
            "jobs.lease <= v.column2",
        ),
        "conformance/test_leasing.py::test_only_the_lease_settles",
        "conformance/test_leasing.py::test_a_fenced_settlement_spoils_no_other",
    ),
    defect(
        97,
        "those tried one by one are answered before their commit",
        Edit(
            "router/store/sqlite/writer.py",
            "            return _transaction(book, batch, _one_by_one)",
            "            def early(book: Book, batch: Batch) -> Answers:\n"
            "                answers = []\n"
            "                for one in batch:\n"
            "                    answers += _one_by_one(book, [one])\n"
            "                    self._tell(self._settled, (answers[-1:], 0.0))\n"
            "                return answers\n"
            "            return _transaction(book, batch, early)",
        ),
        "conformance/test_stores.py::test_nobody_is_answered_before_the_commit_that_holds_his",
    ),
    defect(
        98,
        "a start gives running jobs a fresh schedule",
        Edit(
            "router/store/sqlite/leasing.py",
            'f"UPDATE jobs SET state = {AVAILABLE}, lease = NULL, deaths',
            'f"UPDATE jobs SET state = {AVAILABLE}, lease = NULL, charged = 0, deaths',
        ),
        "conformance/test_leasing.py::test_what_was_charged_stays_charged_when_the_process_dies",
    ),
    defect(
        99,
        "a checkpoint's failed sync is passed over",
        Edit(
            "router/store/sqlite/writer.py",
            "            if not _is_passing(error):\n                self._break(book, error)\n"
            "            log, done = 0, 0\n",
            "            log, done = 0, 0\n",
        ),
        "unit/store/test_checkpoints.py::test_one_that_the_disk_fails_is_the_last_write",
        "unit/store/test_checkpoints.py::"
        "test_the_very_last_one_that_the_disk_fails_is_reported_and_leaves_the_journal",
    ),
    defect(
        100,
        "SQLite syncs again after a sync has failed",
        Edit(
            "router/store/sqlite/writer.py",
            "            if book.broken:\n",
            "            if False:\n",
        ),
        "unit/store/test_checkpoints.py::"
        "test_the_very_last_one_that_the_disk_fails_is_reported_and_leaves_the_journal",
    ),
    defect(
        101,
        "what was committed into a store that is gone is answered",
        Edit(
            "router/store/sqlite/writer.py",
            "            if self._failure is not None or self._look():\n",
            "            if True:\n",
        ),
        "unit/store/test_writer.py::"
        "test_what_is_committed_into_a_store_that_is_gone_is_not_answered",
    ),
)
