"""The modules that decide, in groups, and the tests that must notice a change of each."""

from dataclasses import dataclass

_STORES = (
    "tests/conformance/test_stores.py",
    "tests/conformance/test_leasing.py",
    "tests/conformance/test_retention.py",
    "tests/conformance/test_runs.py",
    "tests/conformance/test_groups.py",
)


@dataclass(frozen=True)
class Group:
    """Modules of `router/`, and the tests that are run against each, the nearest first."""

    name: str
    modules: dict[str, tuple[str, ...]]

    @property
    def tests(self) -> tuple[str, ...]:
        """Every test that is named."""
        return tuple(dict.fromkeys(one for tests in self.modules.values() for one in tests))


def _unit(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/{name}" for name in names)


_VECTORS = ("tests/conformance/test_vectors.py", "tests/conformance/test_providers.py")


def _proof(name: str) -> tuple[str, ...]:
    """The tests of one way of proof, then those of all of them."""
    nearest = (f"providers/test_{name}.py", "providers/test_verify.py")
    return (*_unit(*nearest), *_VECTORS, *_unit("providers/test_constant_time.py"))


_GATE = _unit(
    "dispatch/test_breaker.py",
    "dispatch/test_recovering.py",
    "dispatch/test_breaker_memory.py",
    "dispatch/test_breakers.py",
    "dispatch/test_health.py",
    "dispatch/test_retry_budget.py",
    "dispatch/test_targets.py",
    "dispatch/test_shift.py",
)
_STORE = (
    *_unit("store/test_pages.py", "store/test_sqlite.py", "store/test_runs.py"),
    *_STORES,
)
_ADMIN = _unit(
    "web/admin/test_callers.py",
    "web/admin/test_answers_whole.py",
    "web/admin/test_app.py",
    "web/admin/test_matrix.py",
)
_PAGES = _unit(
    "web/pages/test_visit.py",
    "web/pages/test_sessions.py",
    "web/pages/test_logging_in.py",
    "web/pages/test_window.py",
)

GROUPS = (
    Group(
        "verify",
        {
            "providers/verify.py": (*_proof("verify"), *_unit("providers/test_signed.py")),
            "providers/signed.py": _proof("signed"),
            "providers/signatures.py": _proof("signatures"),
            "providers/keys.py": _proof("keys"),
            "providers/ed25519.py": _proof("ed25519"),
            "providers/bearer.py": _proof("bearer"),
            "providers/credentials.py": _proof("credentials"),
            "providers/headers.py": _proof("headers"),
            "providers/scheme.py": _proof("signed"),
        },
    ),
    Group(
        "dedupe",
        {
            "rules/plan.py": (
                *_unit("rules/test_plan.py", "rules/test_plan_jobs.py"),
                *_unit("intake/test_intake_dedupe.py", "intake/test_intake.py"),
                "tests/conformance/test_own_events.py",
            ),
            **dict.fromkeys(
                ("store/sqlite/accepting.py", "store/common/claims.py"),
                (
                    *(*_unit("store/test_accepting.py"), *_STORE),
                    *_unit("intake/test_intake_dedupe.py"),
                ),
            ),
        },
    ),
    Group(
        "store",
        {
            "store/sqlite/leasing.py": (
                *_unit("store/test_leasing.py", "store/test_recovering.py"),
                *_unit("store/test_damage_lanes.py", "store/test_lease_faults.py"),
                *("tests/conformance/test_leasing.py", *_STORE),
                "tests/conformance/test_own_events.py",
            ),
            "store/sqlite/settling.py": (
                *_unit("store/test_settling.py"),
                *("tests/conformance/test_leasing.py", *_STORE),
                "tests/conformance/test_own_events.py",
            ),
            "store/sqlite/pruning.py": (*_unit("store/test_pruning.py"), *_STORE),
            "store/sqlite/writer.py": (
                *_unit("store/test_checkpoints.py", "store/test_writer_faults.py"),
                *_unit("store/test_writer.py", "store/test_clock_step.py"),
                *_STORE,
            ),
            **dict.fromkeys(
                ("store/sqlite/adding.py", "store/common/adding.py", "store/common/replaying.py"),
                (
                    *_unit("store/test_adding.py"),
                    "tests/conformance/test_replays.py",
                    *_STORE,
                ),
            ),
            "store/sqlite/holding.py": (
                *_unit("store/test_holding.py"),
                "tests/conformance/test_paused_targets.py",
                "tests/conformance/test_in_force.py",
                *_STORE,
            ),
            "store/sqlite/in_force.py": (
                *_unit("store/test_in_force.py", "store/test_pages.py"),
                "tests/conformance/test_in_force.py",
            ),
        },
    ),
    Group(
        "retry",
        {
            "model/retry.py": (
                *_unit("dispatch/test_settlement.py", "model/test_retry.py"),
                "tests/properties/test_retries.py",
            ),
            "dispatch/settlement.py": _unit(
                "dispatch/test_settlement.py", "dispatch/test_dispatcher.py"
            ),
            "dispatch/due.py": _unit("dispatch/test_due.py", "dispatch/test_dispatcher.py"),
            "dispatch/breaker.py": _GATE,
            "dispatch/breakers.py": _GATE,
            "dispatch/health.py": _GATE,
            "dispatch/retry_budget.py": _unit("dispatch/test_retry_budget.py"),
        },
    ),
    Group(
        "nodes",
        {
            "serving/failure_detector.py": _unit("serving/test_failure_detector.py"),
            "serving/nodes.py": _unit("serving/test_nodes.py", "serving/test_shares_of_nodes.py"),
        },
    ),
    Group(
        "ssrf",
        {
            "egress.py": (
                *_unit("test_egress.py", "actions/test_ssrf.py"),
                "tests/properties/test_addresses.py",
            ),
            "model/addresses.py": _unit("model/test_addresses.py", "intake/test_intake_ranges.py"),
            "actions/resolve.py": _unit("actions/test_resolve.py", "actions/test_http.py"),
            "actions/plain_http/request.py": _unit("actions/plain_http/test_request.py"),
            "actions/plain_http/response.py": _unit(
                "actions/plain_http/test_response.py",
                "actions/test_response_bounds.py",
                "actions/test_http.py",
            ),
            "actions/plain_http/client.py": _unit(
                "actions/plain_http/test_client.py",
                "actions/test_hostile_targets.py",
                "actions/test_ssrf.py",
            ),
            "actions/http.py": _unit(
                "actions/test_http.py",
                "actions/test_http_answers.py",
                "actions/test_ssrf.py",
                "actions/test_request_auth.py",
                "actions/test_hostile_targets.py",
                "actions/test_repository_dispatch.py",
            ),
        },
    ),
    Group(
        "auth",
        {
            "web/admin/callers.py": _ADMIN,
            "web/admin/token_throttle.py": _ADMIN,
            "web/admin/browsers.py": _ADMIN,
            "web/admin/app.py": _ADMIN,
            "web/admin/api.py": _ADMIN,
            "web/pages/sessions.py": _PAGES,
            "web/pages/request.py": _PAGES,
            "web/pages/guard.py": _PAGES,
            "web/pages/login.py": _PAGES,
            "web/client_address.py": (*_unit("web/test_client_address.py"), *_ADMIN),
        },
    ),
)
