"""Defects of what an operator is told of a shared database, and of what is done to it."""

from tests.defects.defect import Edit, defect

OPERATING = (
    defect(
        166,
        "a pooler that gives several connections one session is taken for the server",
        Edit(
            "router/store/postgres/sessions.py",
            "len(found[other]) == 1 and not found[one] & found[other]\n",
            "len(found[other]) == 1\n",
        ),
        "unit/store/postgres/test_sessions.py::"
        "test_a_session_is_one_s_own_if_it_stays_and_nobody_else_has_it",
    ),
    defect(
        167,
        "a node that has not beaten for long is shown as ready, as it said itself",
        Edit(
            "router/operator/node_rows.py",
            "if age > LATE_S * 1000 else node.card.unready\n",
            "if node.gone else node.card.unready\n",
        ),
        "unit/operator/test_node_rows.py::"
        "test_what_others_see_of_a_node_counts_more_than_what_it_says",
    ),
    defect(
        168,
        "a router that starts while another one migrates gives up after the time for a lock",
        Edit("router/store/postgres/schema.py", "; SET LOCAL lock_timeout = 0", ""),
        "unit/cli/test_database_upkeep.py::test_who_comes_while_another_makes_the_tables_waits",
    ),
    defect(
        296,
        "a caller's number that no store takes is taken",
        Edit("router/operator/times.py", "abs(value) >= _BEYOND", "abs(value) >= _BEYOND**99"),
        "acceptance/test_numbers.py::test_no_number_is_a_fault_of_the_router",
    ),
    defect(
        330,
        "the jobs of a chain cannot be read from a server elsewhere",
        Edit(
            "router/model/job.py",
            "class Predecessor(msgspec.Struct, frozen=True):\n",
            "class Predecessor(msgspec.Struct, frozen=True, array_like=True):\n",
        ),
        "unit/web/admin/test_there_and_back.py::test_an_answer_comes_back_as_it_was",
    ),
    defect(
        332,
        "a router does not say what check finds in the rules that it serves",
        Edit("router/wiring/live.py", "thorough=True,", "thorough=False,"),
        "acceptance/test_status.py"
        "::test_what_check_finds_is_logged_counted_and_told_at_start_and_reload",
    ),
    defect(
        333,
        "an endpoint whose only secret has expired is one warning among others for check",
        Edit(
            "router/cli/check.py",
            'return any(strict or one.severity == "error" for one in loaded.diagnostics)',
            "return strict and bool(loaded.diagnostics)",
        ),
        "acceptance/test_status.py::test_a_router_whose_only_secret_has_expired_starts_and_says_so",
    ),
    defect(
        334,
        "status is silent of a secret that expires while the router runs",
        Edit(
            "router/rules/ruleset.py",
            "expired.issuperset(e.secrets)]",
            "expired.isdisjoint(e.secrets) and expired.issuperset(e.secrets)]",
        ),
        "unit/operator/test_overview.py"
        "::test_an_endpoint_whose_last_secret_ends_while_the_router_runs",
    ),
)
