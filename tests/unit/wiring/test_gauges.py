"""What metrics show of how things stand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from router.metrics import Metrics
from router.model.store_address import DatabaseUrl, PostgresDatabase, SqliteFile, StoreAddress
from router.wiring.gauges import measure_parts, measure_store


def measured(address: StoreAddress, size: int | None = None) -> Metrics:
    retention = SimpleNamespace(max_size=1_000)
    ruleset = SimpleNamespace(server=SimpleNamespace(store=address, retention=retention))
    live: Any = SimpleNamespace(current=SimpleNamespace(ruleset=ruleset))
    store: Any = SimpleNamespace(journal_bytes=lambda: 7)
    metrics = Metrics()
    measure_store(metrics, live, store, lambda: size)
    return metrics


def test_a_file_shows_its_size_its_journal_and_its_disk(tmp_path: Path) -> None:
    metrics = measured(SqliteFile(str(tmp_path / "router.db")), 400)
    names = ("store_bytes", "store_max_bytes", "journal_bytes")
    assert [metrics.value(f"router_{name}") for name in names] == [400, 1_000, 7]
    assert 0 < metrics.value("router_disk_used_bytes") <= metrics.value("router_disk_bytes")


def test_a_database_has_no_journal_and_disk_of_ours() -> None:
    metrics = measured(PostgresDatabase(DatabaseUrl("postgresql://db/ledger")))
    text = metrics.render().decode()
    assert "router_store_bytes 0.0" in text
    assert "router_journal_bytes" not in text
    assert "router_disk_bytes" not in text


@pytest.mark.parametrize(("state", "number"), [("healthy", 0), ("failing", 2), ("paused", 3)])
def test_targets_and_certificates_show_how_they_stand(state: str, number: int) -> None:
    metrics = Metrics()
    dispatch: Any = SimpleNamespace(
        targets=lambda: [SimpleNamespace(target="erp", state=state, deferred=5)]
    )
    certificates: Any = [
        SimpleNamespace(setting="server.tls", ends_at=9_000),
        SimpleNamespace(setting="server.admin.tls", ends_at=None),
    ]
    live: Any = SimpleNamespace(current=SimpleNamespace(findings=[]))
    measure_parts(metrics, live, dispatch, certificates)
    assert metrics.value("router_target_state", target="erp") == number
    assert metrics.value("router_target_deferred_total", target="erp") == 5
    text = metrics.render().decode()
    assert 'router_certificate_end_timestamp_seconds{setting="server.tls"} 9.0' in text
    assert "admin.tls" not in text
