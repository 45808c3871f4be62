"""The 25 defects that the reliability goals name, in their order."""

from tests.defects.defect import Edit, defect

PUBLISHED = (
    defect(
        1,
        "a 2xx before the commit",
        Edit(
            "router/intake/intake.py",
            "receipts = await self._store.accept_all([one.accepted for one in group])\n",
            "import asyncio\n\n"
            "            kept = self._store.accept_all([one.accepted for one in group])\n"
            "            self._kept = asyncio.ensure_future(kept)\n"
            "            receipts = [Accepted(one.accepted.delivery.id) for one in group]\n",
        ),
        "unit/intake/test_intake.py::test_a_genuine_delivery_is_stored_before_it_is_answered",
        "unit/intake/test_intake.py::test_a_failed_commit_is_503_and_gives_the_slots_back",
    ),
    defect(
        2,
        "synchronous NORMAL",
        Edit("router/store/sqlite/connection.py", '"synchronous": 2,', '"synchronous": 1,'),
        "unit/store/test_connection.py::test_the_writer_reads_its_settings_back",
        "faults/test_powercut.py::test_no_power_cut_loses_an_acknowledged_delivery",
    ),
    defect(
        3,
        "jobs in a second transaction",
        Edit(
            "router/store/sqlite/accepting.py",
            "        book.insert(JOB_ROW, self._jobs)\n",
            '        book.db.execute("COMMIT")\n'
            '        book.db.execute("BEGIN IMMEDIATE")\n'
            "        book.insert(JOB_ROW, self._jobs)\n",
        ),
        "unit/store/test_writer.py::test_delivery_keys_and_jobs_are_one_transaction",
    ),
    defect(
        4,
        "dedupe by looking before inserting",
        Edit(
            "router/store/sqlite/accepting.py",
            "[judge(one, known, kept) for one, _ in batch]",
            "[judge(one, dict(known), kept) for one, _ in batch]",
        ),
        "conformance/test_stores.py::test_a_hundred_copies_at_once_make_one_delivery",
        note="one thread writes, so the race is that of copies in one batch: each looks at what "
        "was there before all of them",
    ),
    defect(
        5,
        "a dedupe key without its endpoint",
        Edit(
            "router/rules/plan.py",
            'key = endpoint.encode() + b"\\0" + identity',
            "key = identity",
        ),
        "unit/rules/test_plan.py::test_the_providers_id_is_the_key_under_the_endpoints_name",
        "unit/intake/test_intake_dedupe.py::test_the_same_id_at_another_endpoint_is_another_delivery",
    ),
    defect(
        6,
        "a dedupe key made of the signature",
        Edit(
            "router/rules/plan.py",
            '        identity, flag = read.provider_id if mode == "id" else None, None\n',
            '        identity, flag = read.provider_id if mode == "id" else None, None\n'
            "        words = ('signature', 'hmac')\n"
            "        marks = [v for n, v in delivery.headers if any(w in n for w in words)]\n"
            "        identity = marks[0].encode() if marks else identity\n",
        ),
        "unit/intake/test_intake_dedupe.py::test_a_signature_s_twin_is_the_same_delivery",
    ),
    defect(
        7,
        "signatures compared with ==",
        Edit(
            "router/providers/signatures.py",
            "    equal = hmac.compare_digest\n",
            "    equal = bytes.__eq__\n",
        ),
        "unit/providers/test_constant_time.py::test_every_signature_is_compared_with_every_secret",
    ),
    defect(
        8,
        "no verification without a secret",
        Edit(
            "router/providers/verify.py",
            '            return self._refused("no_secret", "the endpoint has no live secret")\n',
            '            return Verified("none")\n',
        ),
        "unit/providers/test_verify.py::test_without_a_usable_secret_nothing_is_verified",
        "conformance/test_providers.py::test_no_secrets_is_closed",
        "unit/intake/test_intake.py::test_an_ended_secret_verifies_nothing",
    ),
    defect(
        9,
        "parsed before verified",
        Edit(
            "router/intake/judging.py",
            "        settings, provider = endpoint.settings, endpoint.provider\n",
            "        settings, provider = endpoint.settings, endpoint.provider\n"
            "        provider.read(request)\n",
        ),
        "unit/intake/test_intake_order.py::test_a_forgery_is_not_read",
    ),
    defect(
        10,
        "the body written anew is what is signed",
        Edit(
            "router/providers/signed.py",
            "        if message is None:\n",
            "        import msgspec\n"
            "        try:\n"
            "            body = msgspec.json.encode(msgspec.json.decode(request.body))\n"
            "            message = filled(self._template, found, body)\n"
            "        except ValueError:\n"
            "            pass\n"
            "        if message is None:\n",
        ),
        "unit/providers/test_signed.py::test_the_body_is_signed_byte_for_byte",
    ),
    defect(
        11,
        "no fencing token",
        Edit("router/store/sqlite/settling.py", "AND jobs.lease = v.column2 ", ""),
        "conformance/test_leasing.py::test_only_the_lease_settles",
        "conformance/test_leasing.py::test_a_fenced_settlement_spoils_no_other",
        "conformance/test_runs.py::test_i18_a_late_finisher_frees_nobody",
    ),
    defect(
        12,
        "a lease by the wall clock",
        Edit(
            "router/store/sqlite/leasing.py",
            "lost = [n for n, node in reading.holders(book.db) if node in nodes]",
            'lost = [n for (n,) in book.db.execute("SELECT n FROM jobs WHERE state = 3 "'
            ' "AND started_at < ?", (now - 60_000,))]',
        ),
        "conformance/test_leasing.py::test_another_boot_s_jobs_are_reclaimed_uncharged",
        note="a lease here belongs to a node, not to a time: planted is a recovery that goes by "
        "the time at which the attempt began",
    ),
    defect(
        13,
        "the attempt counted after the run",
        Edit(
            "router/store/sqlite/leasing.py",
            "SET state = {RUNNING}, attempt = attempt + 1, started_at = ?",
            "SET state = {RUNNING}, started_at = ?",
        ),
        "conformance/test_leasing.py::test_a_lease_records_the_attempt_and_brings_the_delivery",
    ),
    defect(
        14,
        "retries without jitter",
        Edit(
            "router/model/retry.py",
            "    jittered = max(1, round(delay * (1 + policy.jitter * rng.uniform(-1, 1))))\n",
            "    jittered = max(1, delay)\n",
        ),
        "unit/dispatch/test_settlement.py::test_a_delay_is_spread_both_ways",
    ),
    defect(
        15,
        "a restart forgets when a retry is due",
        Edit(
            "router/store/sqlite/leasing.py",
            "    dead = {\n        n: reason\n",
            '    book.db.execute("UPDATE jobs SET due_at = ? WHERE state = 1", (now,))\n'
            "    dead = {\n        n: reason\n",
        ),
        "conformance/test_leasing.py::test_a_restart_keeps_the_time_of_a_retry",
    ),
    defect(
        16,
        "a redirect is followed",
        Edit(
            "router/actions/http.py",
            "        try:\n            outcome: Outcome | Exception = self._classed",
            "        if isinstance(found, HttpAnswer) and 300 <= found.status < 400:\n"
            "            from urllib.parse import urljoin\n\n"
            "            import msgspec\n\n"
            '            url = urljoin(call.url, dict(found.headers)["location"])\n'
            "            self._begun(msgspec.structs.replace(call, url=url), None, ended)\n"
            "            return\n"
            "        try:\n            outcome: Outcome | Exception = self._classed",
        ),
        "wire/test_calls.py::test_an_answer[asyncio-http-a redirect of POST, 302]",
    ),
    defect(
        17,
        "a name is resolved twice",
        Edit(
            "router/actions/resolve.py",
            "        if not (found := await self._lookup(host)):\n",
            "        await self._lookup(host)\n"
            "        if not (found := await self._lookup(host)):\n",
        ),
        "wire/test_calls_addresses.py::test_what_was_checked_is_what_is_connected_to",
    ),
    defect(
        18,
        "is_global decides alone",
        Edit(
            "router/egress.py",
            "def _is_public(address: Address) -> bool:\n",
            "def _is_public(address: Address) -> bool:\n    return address.is_global\n",
        ),
        "unit/test_egress.py::test_names_may_not_lead_to_private_addresses",
        "wire/test_calls_addresses.py::test_as_the_answer_to_a_name",
    ),
    defect(
        19,
        "shell=True",
        Edit(
            "router/actions/child.py",
            "                list(argv),\n",
            '                " ".join(argv),\n                shell=True,\n',
        ),
        "unit/actions/test_shell.py::test_arguments_arrive_byte_for_byte",
        "house/test_house.py::test_nothing_runs_text_as_a_program",
    ),
    defect(
        20,
        "the parent's whole environment",
        Edit("router/actions/child.py", "env=dict(env),", "env={**os.environ, 'X': 'x', **env},"),
        "unit/actions/test_shell.py::test_only_the_given_environment",
    ),
    defect(
        21,
        "only the child itself is killed",
        (
            Edit(
                "router/actions/child.py",
                "os.killpg(self._process.pid, number)",
                "os.kill(self._process.pid, number)",
            ),
            Edit(
                "router/actions/process_tree.py",
                "        if self._mark is None:\n            return\n",
                "        return\n",
            ),
        ),
        "unit/actions/test_shell.py::test_the_whole_group_is_gone",
    ),
    defect(
        22,
        "413 and the connection stays open",
        Edit(
            "router/web/answers.py",
            "close=not refused.keep_alive,",
            "close=not refused.keep_alive and refused.status != 413,",
        ),
        "wire/test_rows.py::test_it_is_as_the_row_says[413 while the sender goes on]",
    ),
    defect(
        23,
        "nesting is not bounded and its RecursionError not caught",
        (
            Edit(
                "router/structure.py",
                " if depth(body) > DEPTH_MAX else",
                " if depth(body) > 10**9 else",
            ),
            Edit(
                "router/expressions/json_text.py",
                "except (ValueError, RecursionError) as",
                "except ValueError as",
            ),
            Edit("router/providers/read.py", "(NotJson, RecursionError) as e", "NotJson as e"),
        ),
        "unit/providers/test_read.py::test_too_complex_bodies",
    ),
    defect(
        24,
        "retention removes unfinished jobs",
        Edit(
            "router/store/sqlite/pruning.py",
            "        HAVING coalesce(max(j.state < {DEAD}), 0) = 0\n",
            "",
        ),
        "conformance/test_retention.py::test_open_work_is_never_removed",
    ),
    defect(
        25,
        "a secret in the text of an error",
        Edit(
            "router/dispatch/runner.py",
            'f"{type(error).__name__} inside the router, see its log"',
            'f"{error!r} inside the router"',
        ),
        "unit/dispatch/test_dispatcher.py::test_a_leak_is_a_retry_and_its_text_is_not_stored",
    ),
)
