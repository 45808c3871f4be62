import re
import subprocess
import sys

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from router.metrics import ActivityTotals, Metrics, RuleTotals
from router.metrics.counters import ACK_BUCKETS, BATCH_BUCKETS
from router.metrics.samples import ASKED_KEPT, MetricFactory
from router.rules.index import Candidate
from tests.builders import a_rule


def test_each_verb_moves_its_sample() -> None:
    m = Metrics()
    m.delivered("shop", "accepted")
    m.delivered("shop", "accepted")
    m.delivered("shop", "duplicate")
    m.refused(None, "not_found")
    m.acked("commerce", 0.003)
    m.job_ended("http", "succeeded")
    m.attempted("http", "failed")
    m.rule_matched("paid", 5)
    m.rule_erred("paid")
    m.rule_matched("new", 5)
    m.rule_shadowed("new")
    m.secret_used("shop_old")
    m.committed(7, 0.001)
    m.lease_lost()
    m.clock_stepped()
    m.reloaded()
    m.in_force("aa", 1000)
    assert m.value("router_reload_ok") == 1
    m.reload_failed()
    assert (m.value("router_reload_ok"), m.value("router_reload_timestamp_seconds")) == (0, 1)
    assert m.value("router_deliveries_total", endpoint="shop", result="accepted") == 2
    assert m.value("router_deliveries_total", endpoint="shop", result="duplicate") == 1
    assert m.value("router_refused_total", endpoint="-", reason="not_found") == 1
    assert m.value("router_ack_seconds_bucket", provider="commerce", le="0.005") == 1
    assert m.value("router_ack_seconds_bucket", provider="commerce", le="0.002") == 0
    assert m.value("router_jobs_total", kind="http", outcome="succeeded") == 1
    assert m.value("router_attempts_total", kind="http", outcome="failed") == 1
    assert m.value("router_rule_matches_total", rule="paid") == 1
    assert m.value("router_rule_errors_total", rule="paid") == 1
    assert m.value("router_rule_shadow_matches_total", rule="new") == 1
    assert m.value("router_secret_uses_total", secret="shop_old") == 1
    assert m.value("router_commit_batch_sum") == 7
    assert m.value("router_commit_seconds_sum") == 0.001
    assert m.value("router_leases_lost_total") == 1
    assert m.value("router_clock_steps_total") == 1
    assert m.value("router_reloads_total", outcome="ok") == 1
    assert m.value("router_reloads_total", outcome="failed") == 1


def test_activity_is_by_endpoint_and_target_and_the_longest_is_of_lately() -> None:
    m = Metrics()
    m.delivered("shop", "routed")
    m.refused(None, "not_found")
    for milliseconds in (3, 40):
        m.called("erp", "failed", milliseconds)
    assert m.activity() == {
        ("delivery", "shop", "routed"): ActivityTotals(1),
        ("refusal", "-", "not_found"): ActivityTotals(1),
        ("attempt", "erp", "failed"): ActivityTotals(2, 43, 40),
    }
    m.called("erp", "failed", 7)
    assert m.activity()["attempt", "erp", "failed"] == ActivityTotals(3, 50, 7)


def test_evaluations_are_reported_by_rule_however_they_were_counted() -> None:
    """Candidates that many events share, others made for one event, and more sets than are kept."""
    m = Metrics()
    one, two = Candidate(0, a_rule("one"), None), Candidate(1, a_rule("two"), None)
    shared = (one, two)
    for _ in range(3):
        m.rules_asked((shared, [one]))
    for _ in range(ASKED_KEPT + 1):
        m.rules_asked(((two,),))
    m.rule_matched("two", 5)
    m.rule_shadowed("two")
    assert m.value("router_rule_evaluations_total", rule="one") == 6
    assert m.rule_totals() == {
        "one": RuleTotals(6, 0, 0, 0),
        "two": RuleTotals(ASKED_KEPT + 4, 0, 0, 1, last_matched_at=5),
    }


def test_only_the_generation_in_force_is_shown() -> None:
    m = Metrics()
    m.reloaded()
    m.in_force("aa", 1000)
    m.reloaded()
    m.in_force("bb", 1000)
    text = m.render().decode()
    assert 'router_ruleset_info{generation="bb"} 1.0' in text
    assert 'generation="aa"' not in text


def test_a_watched_value_is_asked_for_when_shown() -> None:
    m = Metrics()
    held = [1.0]
    m.watch("jobs_open", "Jobs not ended", lambda: held[0])
    held[0] = 5.0
    assert m.value("router_jobs_open") == 5.0


def test_two_instances_share_nothing() -> None:
    one, two = Metrics(), Metrics()
    one.delivered("shop", "accepted")
    assert two.value("router_deliveries_total", endpoint="shop", result="accepted") == 0


def test_the_page_is_prometheus_text_even_with_odd_labels() -> None:
    m = Metrics()
    m.secret_used('a"b\\c\nd')
    families = {f.name: f for f in text_string_to_metric_families(m.render().decode())}
    samples = families["router_secret_uses"].samples
    assert samples[0].labels == {"secret": 'a"b\\c\nd'}


def test_importing_it_costs_nothing() -> None:
    code = "import sys, router.metrics, router.log; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'router.metrics'" in done.stdout
    assert "prometheus_client" not in done.stdout
    assert "structlog" not in done.stdout


def test_an_answer_later_than_its_sender_waits_is_counted() -> None:
    m = Metrics()
    m.acked("commerce", 4.9, 5.0)
    m.acked("commerce", 5.1, 5.0)
    m.acked("hmac", 99.0, None)
    assert m.value("router_ack_late_total", provider="commerce") == 1
    assert m.value("router_ack_late_total", provider="hmac") == 0


def test_when_a_secret_was_last_used() -> None:
    m = Metrics()
    m.secret_used("old", 1_790_000_000_000)
    m.secret_used("old", 1_790_000_005_000)
    name = "router_secret_last_used_timestamp_seconds"
    assert m.value(name, secret="old") == 1_790_000_005
    m.routed(0.00002)
    assert m.value("router_match_seconds_count") == 1


@pytest.mark.parametrize("labels", [(), ("provider",), ("a", "b")])
@pytest.mark.parametrize("buckets", [ACK_BUCKETS, BATCH_BUCKETS, (0.00001, 1e6)])
def test_a_histogram_reads_as_the_registry_s_own(
    labels: tuple[str, ...], buckets: tuple[float, ...]
) -> None:
    """Before its first value and after many, on a bound and beside it, line by line."""
    registry, made = prometheus_client.CollectorRegistry(), MetricFactory()
    theirs = prometheus_client.Histogram("h", "About.", labels, buckets=buckets, registry=registry)
    ours = made.histogram("h", "About.", buckets, *labels)
    assert _without_times(made.text()) == _without_times(
        prometheus_client.generate_latest(registry)
    )
    of = [tuple(f'{name} "{n}\\' for name in labels) for n in range(2)]
    for number, value in enumerate((0, *buckets, *[b * 1.01 for b in buckets], 1e9, 0.1, 0.2)):
        ours.observe(value, *of[number % 2])
        (theirs.labels(*of[number % 2]) if labels else theirs).observe(value)
    said = made.text()
    assert _without_times(said) == _without_times(prometheus_client.generate_latest(registry))
    assert said.count(b"\nh_created") == (2 if labels else 1)


def _without_times(text: bytes) -> bytes:
    """`_created` says when, which is never the same."""
    return re.sub(rb"(?m)^(h_created.*) [0-9.e+]+$", rb"\1", text)
