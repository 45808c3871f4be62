import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from router.metrics import Metrics


def test_each_verb_moves_its_sample() -> None:
    m = Metrics()
    m.delivered("shop", "accepted")
    m.delivered("shop", "accepted")
    m.delivered("shop", "duplicate")
    m.refused(None, "not_found")
    m.acked("commerce", 0.003)
    m.job_ended("http", "succeeded")
    m.attempted("http", "failed")
    m.rule_matched("paid")
    m.rule_erred("paid")
    m.secret_used("shop_old")
    m.committed(7, 0.001)
    m.lease_lost()
    m.reloaded("aa")
    m.reload_failed()
    assert m.value("router_deliveries_total", endpoint="shop", result="accepted") == 2
    assert m.value("router_deliveries_total", endpoint="shop", result="duplicate") == 1
    assert m.value("router_refused_total", endpoint="-", reason="not_found") == 1
    assert m.value("router_ack_seconds_bucket", provider="commerce", le="0.005") == 1
    assert m.value("router_ack_seconds_bucket", provider="commerce", le="0.002") == 0
    assert m.value("router_jobs_total", kind="http", outcome="succeeded") == 1
    assert m.value("router_attempts_total", kind="http", outcome="failed") == 1
    assert m.value("router_rule_matches_total", rule="paid") == 1
    assert m.value("router_rule_errors_total", rule="paid") == 1
    assert m.value("router_secret_uses_total", secret="shop_old") == 1
    assert m.value("router_commit_batch_sum") == 7
    assert m.value("router_commit_seconds_sum") == 0.001
    assert m.value("router_leases_lost_total") == 1
    assert m.value("router_reloads_total", outcome="ok") == 1
    assert m.value("router_reloads_total", outcome="failed") == 1


def test_only_the_generation_in_force_is_shown() -> None:
    m = Metrics()
    m.reloaded("aa")
    m.reloaded("bb")
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
