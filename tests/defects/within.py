"""Defects of our own choice: rules, chains and groups, the ledger, retries."""

from tests.defects.defect import Edit, defect

RULES = (
    defect(
        26,
        "a field that is not there compares as null",
        Edit(
            "router/expressions/verdict.py",
            "        return absent if value is ABSENT else (value == literal) is wanted\n\n"
            "    return equals_plain\n",
            "        return (value == literal) is wanted\n\n    return equals_plain\n",
        ),
        "unit/expressions/test_verdict.py::test_error",
    ),
    defect(
        27,
        "in OR an error outweighs what is true",
        Edit(
            "router/expressions/verdict.py",
            "            if verdict is decisive:\n",
            "            if verdict is decisive and not (decisive and failed):\n",
        ),
        "unit/rules/test_match.py::test_an_item_that_errs_hides_no_other_of_any",
    ),
    defect(
        28,
        "in AND an error hides what is false",
        Edit(
            "router/expressions/verdict.py",
            "            if verdict is decisive:\n",
            "            if verdict is decisive and (decisive or failed is None):\n",
        ),
        "unit/rules/test_match.py::test_one_false_item_makes_false_even_beside_an_error",
    ),
    defect(
        29,
        "the order of a condition's parts decides",
        Edit(
            "router/expressions/verdict.py",
            "        return False if second(x, s) is False else left\n",
            "        return left\n",
        ),
        "properties/test_expressions.py::test_order_of_conditions_changes_nothing",
    ),
    defect(
        30,
        "not of an error is true",
        Edit(
            "router/expressions/verdict.py",
            "        return True if verdict is False else verdict\n",
            "        return True\n",
        ),
        "unit/expressions/test_verdict.py::test_error",
    ),
    defect(
        31,
        "the index takes true for one",
        Edit(
            "router/expressions/needs.py",
            '        return "boolean", value\n',
            '        return "number", exact(int(value))\n',
        ),
        "unit/rules/test_index.py::test_true_is_not_one",
    ),
    defect(
        32,
        "the index forgets a shorter beginning",
        Edit(
            "router/rules/index.py",
            "            found.append(self.filed[at])\n            at = parents[at]\n",
            "            found.append(self.filed[at])\n            at = -1\n",
        ),
        "properties/test_index.py::test_prefixes_are_found_as_by_trying_each",
    ),
    defect(
        33,
        "indexed rules fire out of their order",
        Edit(
            "router/rules/index.py",
            "        return sorted({c.place: c for c in every}.values() if repeated else every"
            ", key=place)\n",
            "        return list({c.place: c for c in every}.values() if repeated else every)\n",
        ),
        "unit/rules/test_index.py::test_only_rules_whose_value_is_there_are_candidates",
    ),
    defect(
        34,
        "an error keeps an otherwise rule quiet",
        Edit(
            "router/rules/match.py",
            "if rest and not any(",
            "if rest and not errors and not any(",
        ),
        "unit/rules/test_match.py::test_otherwise_only_when_no_live_rule_of_the_endpoint_matched",
    ),
    defect(
        35,
        "a rule of every endpoint keeps an otherwise rule quiet",
        Edit(
            "router/rules/match.py",
            'not any(r.mode == "live" and r.sources is not None for r in hits):',
            'not any(r.mode == "live" for r in hits):',
        ),
        "unit/rules/test_match.py::test_otherwise_only_when_no_live_rule_of_the_endpoint_matched",
    ),
    defect(
        36,
        "a shadow rule acts",
        Edit(
            "router/rules/plan.py",
            "for rule in (*found.live, *found.paused):",
            "for rule in (*found.live, *found.shadow, *found.paused):",
        ),
        "unit/rules/test_plan.py::test_shadow_rules_make_no_jobs",
    ),
)

CHAINS = (
    defect(
        37,
        "what comes after starts at once",
        Edit(
            "router/store/common/run_changes.py",
            "    return paused | chains.PREDECESSORS if needed else paused\n",
            "    return paused | 0 * chains.PREDECESSORS if needed else paused\n",
        ),
        "conformance/test_runs.py::test_i17_a_chain_runs_in_its_order",
    ),
    defect(
        38,
        "a dead predecessor lets the next one start",
        Edit(
            "router/store/common/chains.py",
            "(reason := _hopeless(member, states))",
            "(reason := None)",
        ),
        "conformance/test_runs.py::test_i17_a_dead_predecessor_cancels_what_comes_after_it_at_once",
        "conformance/test_runs.py::test_i17_a_failure_branch_is_taken_or_not_needed",
    ),
    defect(
        39,
        "a run gives its turn back between its retries",
        Edit(
            "router/store/common/chains.py",
            "    return all(member.ended for member in members)\n",
            '    return all(member.ended or member.state == "retryable" for member in members)\n',
        ),
        "conformance/test_groups.py::test_i23_queue_a_run_keeps_its_turn_between_its_retries",
    ),
    defect(
        40,
        "latest keeps every run that waits",
        Edit(
            "router/store/common/run_changes.py",
            "                await self._cancel_rest("
            "await self.rows.load(older), chains.SUPERSEDED)\n",
            "                pass\n",
        ),
        "conformance/test_groups.py::test_i23_latest_only_the_newest_waits",
    ),
    defect(
        41,
        "a halted queue goes on",
        Edit(
            "router/store/common/run_changes.py",
            "            await self.rows.set_turn(run, TURN_HALTED if halts else None)\n"
            "            if halts:\n                return\n",
            "            await self.rows.set_turn(run, None)\n",
        ),
        "conformance/test_groups.py::test_i23_halt_keeps_the_queue_waiting_for_an_operator",
    ),
    defect(
        42,
        "two runs of one key at once",
        Edit(
            "router/store/sqlite/runs.py",
            "row is None or self._held(key) >= row[1] else",
            "row is None or self._held(key) > row[1] else",
        ),
        "conformance/test_groups.py::test_i23_queue_a_new_run_waits_while_one_is_busy",
        "conformance/test_groups.py::test_i23_as_many_runs_as_the_limit_allows",
    ),
)

LEDGER = (
    defect(
        43,
        "a dedupe key never ends",
        Edit(
            "router/store/sqlite/accepting.py",
            '"until = excluded.until WHERE until <= ?"',
            '"until = excluded.until WHERE until < 0 AND ?"',
        ),
        "conformance/test_stores.py::test_an_expired_key_is_taken_over",
        "unit/intake/test_intake.py::test_a_key_is_known_for_its_window",
    ),
    defect(
        44,
        "retention takes live keys",
        Edit(
            "router/store/sqlite/pruning.py",
            "(*plan.keys, min(plan.ended, now))",
            "(*plan.keys, 1 << 60)",
        ),
        "conformance/test_retention.py::test_only_expired_keys_are_removed",
    ),
    defect(
        45,
        "of a partly known batch all events get jobs",
        Edit(
            "router/store/common/claims.py",
            "    return Accepted(id_, None if len(new) == len(events) else new)\n",
            "    return Accepted(id_)\n",
        ),
        "conformance/test_stores.py::test_of_a_partly_known_batch_only_new_events_get_jobs",
    ),
    defect(
        46,
        "a crash loop goes on for ever",
        Edit("router/store/values.py", "MAX_DEATHS = 3\n", "MAX_DEATHS = 1 << 30\n"),
        "conformance/test_leasing.py::test_the_third_death_in_a_row_is_the_last",
    ),
    defect(
        47,
        "after a failed sync it writes on",
        Edit(
            "router/store/sqlite/writer.py",
            "        if not _is_passing(error):\n            self._break(book, error)\n"
            "        unavailable",
            "        unavailable",
        ),
        "unit/store/test_writer.py::test_after_a_failed_sync_nothing_is_written_any_more",
    ),
    defect(
        48,
        "an interruption is charged",
        Edit(
            "router/dispatch/settlement.py",
            '    return _settle(job, attempt, "available", due_at=ledger, charged=False)\n',
            '    return _settle(job, attempt, "available", due_at=ledger)\n',
        ),
        "unit/dispatch/test_settlement.py::test_an_interruption_is_not_charged",
    ),
    defect(
        49,
        "a target's Retry-After is taken as it is",
        Edit(
            "router/model/retry.py",
            "min(max(after_s, RETRY_AFTER_MIN_S), RETRY_AFTER_MAX_S)",
            "after_s",
        ),
        "unit/dispatch/test_settlement.py::test_a_targets_retry_after_is_clamped",
    ),
    defect(
        50,
        "a target's wish comes before the schedule",
        Edit(
            "router/model/retry.py",
            '    return asked if failure == "temporary" else max(jittered, asked)\n',
            "    return asked\n",
        ),
        "unit/dispatch/test_settlement.py::test_a_targets_retry_after_is_clamped",
    ),
    defect(
        51,
        "a client's fault is tried as often as a server's",
        Edit(
            "router/model/retry.py",
            "        schedule = schedule[:CLIENT_ERROR_DELAYS]\n",
            "        pass\n",
        ),
        "unit/dispatch/test_settlement.py::test_when_it_ends",
    ),
)

WITHIN = (*RULES, *CHAINS, *LEDGER)
