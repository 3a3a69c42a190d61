import pytest

from enginescope.analysis.claims.run_claims import percentile_name
from enginescope.analysis.layers.layer_sum import LayerSum
from enginescope.analysis.runs.throughput import Pipeline
from enginescope.core.record import replace
from enginescope.judge.samples import Interval, Summary
from enginescope.judge.units import format_ms, range_text
from enginescope.records.run.run import Outcome, OutcomeKind, StopReport, WarmUpReport
from enginescope.render.base import phrases, short_names


def test_ranges_have_equal_decimals_and_metrics_and_percentiles_names() -> None:
    for low, high, text in (
        (4.2012, 4.2361, "4.201 … 4.236"),
        (0.98, 10.2, "0.98 … 10.20"),
        (4.217812, 4.217894, "4.2178 … 4.2179"),
        (1234.5, 1240.1, "1,234 … 1,240"),
        (4.2178121, 4.2178132, "4.21781 … 4.21781"),
        (0.545776, 0.545776, "0.5458 … 0.5458"),
    ):
        assert range_text(low, high) == text
    assert [percentile_name(p) for p in (50.0, 99.0, 99.9)] == ["p50", "p99", "p99.9"]
    assert (phrases.metric_title("latency"), phrases.metric_title("queue")) == ("Latency", "queue")


def test_interval_that_could_not_be_had_is_said_so() -> None:
    summary = Summary(
        metric="latency",
        n=3,
        effective_n=1.5,
        min_ms=1,
        max_ms=1,
        mean_ms=1,
        median_ms=1,
        std_ms=0,
        cv_pct=0,
        median_interval=None,
        percentiles=(),
    )
    assert phrases.interval_text(summary) == "no interval: all samples are equal"
    assert (
        phrases.interval_text(replace(summary, std_ms=0.1))
        == "no interval: too few independent samples"
    )


def test_layer_sums_of_means_or_medians_against_the_whole() -> None:
    found = LayerSum(sum_ms=4.6, whole_ms=4.0, whole_metric="latency", pass_whole_ms=4.9)
    text = phrases.layer_sum_sentence(found)
    assert text.startswith(
        "The layers add up to 4.600 ms (sum of layer means, no interval: the profile holds "
        "means alone), 0.600 ms (15.0 %) more than the mean latency of 4.000 ms (1.15 ×)"
    )
    assert phrases.pass_sentence(found) == (
        "In the profiling pass itself a whole iteration took 4.900 ms."
    )
    text = phrases.layer_sum_sentence(LayerSum(sum_ms=3, whole_ms=4.0, whole_metric="gpu_compute"))
    assert "1.00 ms (25.0 %) less than the mean GPU compute time of 4.000 ms (0.750 ×)" in text
    text = phrases.layer_sum_sentence(LayerSum(sum_ms=4.001, whole_ms=4.0, whole_metric="latency"))
    assert text.endswith("the same as the mean latency of 4.000 ms within 0.5 %.")
    text = phrases.layer_sum_sentence(LayerSum(sum_ms=4.0))
    assert text.endswith("no time of whole requests is known to compare with.")
    assert phrases.pass_sentence(LayerSum(sum_ms=4.0)) is None
    found = LayerSum(
        sum_ms=4.6,
        statistic="median",
        interval=Interval(low=4.5, high=4.7),
        iterations=200,
        whole_ms=4.0,
        whole_metric="latency",
    )
    assert phrases.layer_sum_sentence(found).startswith(
        "The layers add up to 4.600 ms (sum of layer medians, 200 iterations, "
        "95 % CI 4.500 … 4.700 ms), 0.600 ms (15.0 %) more than the median latency of 4.000 ms"
    )
    few = phrases.layer_sum_sentence(LayerSum(sum_ms=4.6, statistic="median", iterations=5))
    assert "(sum of layer medians, 5 iterations, no interval: too few iterations)" in few


def test_layer_sums_of_hosts_profilers_and_operators_say_what_they_are() -> None:
    found = LayerSum(sum_ms=2.9, whole_ms=1.4, whole_metric="device_latency", is_host=True)
    assert phrases.layer_sum_sentence(found).endswith(
        ": they are times in which the host enqueued the layers; the GPU ran them later."
    )
    whole = {"whole_ms": 0.4, "whole_metric": "gpu_compute"}
    found = LayerSum(sum_ms=0.4, raw_ms=0.6, profiler_ms=0.0019, **whole)
    assert phrases.layer_sum_sentence(found) == (
        "Layers 0.4000 ms (own times, fitted to the GPU compute time: without what the profiler "
        "adds, about 1.9 µs a layer); the profiler reported 0.6000 ms (sum of layer means, no "
        "interval: the profile holds means alone); GPU compute time 0.4000 ms."
    )
    text = phrases.layer_sum_sentence(LayerSum(sum_ms=0.31, iterations=1, part="operator"))
    assert text.startswith("The operators add up to 0.3100 ms (sum of operator means, 1 iteration")
    assert "layer" not in text


@pytest.mark.parametrize(
    ("enqueue_ms", "end"),
    [
        (0.0222, "Python's other calls 0.00410 ms: no less than the GPU computes, so the host "),
        (0.0052, "Python's other calls 0.00410 ms."),
    ],
)
def test_what_python_adds_stands_beside_the_enqueue(enqueue_ms, end) -> None:
    pipeline = Pipeline(
        period_ms=0.0273, compute_ms=0.0244, gap_ms=0.0029, enqueue_ms=enqueue_ms, loop_ms=0.0041
    )
    text = phrases.pipeline_sentence(pipeline)
    assert f"the enqueue call takes the host {format_ms(enqueue_ms, 3)}, {end}" in text
    assert ("the host limits the throughput" in text) is (enqueue_ms > 0.02)


def test_outcomes_stop_rules_and_ends_of_the_warm_up_have_words() -> None:
    for outcome, text in (
        (Outcome(), "ok"),
        (Outcome(kind=OutcomeKind.CRASHED, signal=9), "crashed (signal 9)"),
        (Outcome(kind=OutcomeKind.FAILED, exit_code=3), "failed (exit code 3)"),
        (Outcome(kind=OutcomeKind.OUT_OF_MEMORY), "out of memory"),
    ):
        assert phrases.outcome_text(outcome) == text
    for rule in ("iterations", "duration", "precision", "max_time", "hard_limit"):
        stop = StopReport(rule=rule, iterations=1200, duration_ms=2590, half_width_pct=0.47)
        assert phrases.stop_sentence(stop).endswith(
            "(1,200 iterations in 2,590 ms; interval ± 0.47 %)"
        )
    for end in ("steady", "limit", "fixed"):
        text = phrases.warm_up_sentence(WarmUpReport(iterations=5, duration_ms=12, ended_by=end))
        assert text.startswith("5 iterations, 12.0 ms, ")


def test_shortened_texts_keep_both_ends_and_stay_apart() -> None:
    assert short_names.shorten("abcdefghij", 10) == "abcdefghij"
    assert short_names.shorten("abcdefghij", 5) == "ab…ij"
    assert short_names.shorten("abcdefghij", 6) == "abc…ij"
    names = [f"sm75_xmma_fprop_implicit_gemm_{one}_simple_t1r1s1" for one in ("a8x8", "b8x8")]
    assert len({short_names.shorten(one, 30) for one in names}) == 1
    short = short_names.shorten_apart([*names, names[0], "conv"], 30)
    assert len(set(short[:2])) == 2
    assert short[0] == short[2]
    assert short[3] == "conv"
    assert max(map(len, short)) == 30
    names = [f"{'x' * 30}{a}{'y' * 30}{b}{'z' * 30}" for a in "12" for b in "34"]
    numbered = short_names.shorten_apart(names, 12)
    assert len(set(numbered)) == 4
    assert numbered[1].endswith(" #2")
    assert max(map(len, numbered)) == 12
