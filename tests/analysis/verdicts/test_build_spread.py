import pytest

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.upgrade.rows import is_settled, metric_rows
from enginescope.analysis.verdicts.build_spread import build_options_of
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.record import replace
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.run.job import Subject
from enginescope.records.verdict.gate import GateOutcome
from enginescope.records.verdict.lottery import BuildSpread
from enginescope.records.verdict.upgrade import UPGRADE_LIMITS, UpgradeKind
from enginescope.render.verdicts.verdict_phrases import headline_sentence, why_text
from tests.analysis.in_turn import in_turn, job, named
from tests.analysis.lottery.drawn import built

JOB = job("trt", "fp16")
ENGINE = Subject(name="net.engine", kind="engine", path="/m/net.engine")
SPREAD = BuildSpread(
    environment=("Xeon", "2", None),
    backend="trt",
    precision="fp16",
    model="net.onnx",
    metric="latency",
    created="2026-11-23T16:00:00+00:00",
    builds=10,
    sd=0.02,
)


def sides(ratio=0.98, *, builds=(1, 1), shared=False, **more):
    """Two sides interleaved, each process on one of so many builds of its side."""
    a, b = in_turn(ratio, jobs=(replace(JOB, **more), replace(JOB, **more)))
    numbers = [
        [1 + at % count + (0 if shared else 50 * side) for at in range(len(a))]
        for side, count in enumerate(builds)
    ]
    return tuple(
        tuple(replace(run, build=built(number)) for run, number in zip(runs, row, strict=True))
        for runs, row in zip((a, b), numbers, strict=True)
    )


def compared(runs, *spreads):
    return compare_sides(named(*runs), CompareConfig(spreads=spreads))


def headline(runs, *spreads):
    return compared(runs, *spreads).pairs[0].headline


def test_a_gap_within_the_variation_between_builds_is_not_called_faster_or_slower() -> None:
    runs = sides()
    assert headline(runs).kind is VerdictKind.FASTER
    found = compared(runs, SPREAD)
    verdict = found.pairs[0].headline
    assert (verdict.kind, verdict.reason) == (VerdictKind.INCONCLUSIVE, Reason.BUILD_SPREAD)
    assert "builds of net.onnx differ by 2 % (10 builds" in verdict.detail
    assert (verdict.estimate, verdict.more) == (headline(runs).estimate, None)
    assert found.is_final
    assert not found.is_decided
    (notice,) = (one for one in measured_notices(found) if one.code == "W-BUILD-SPREAD")
    assert "B is 0.98" in notice.message
    assert notice.evidence == {"b": "B", "ratio": verdict.estimate.ratio}
    assert "several builds" in why_text(verdict)
    assert headline_sentence(found.pairs[0]).startswith("Inconclusive")
    assert headline(sides(1.02)).kind is VerdictKind.SLOWER
    assert headline(sides(1.02), SPREAD).reason is Reason.BUILD_SPREAD
    b = tuple(replace(run, peak_memory_bytes=(80 << 20) + at) for at, run in enumerate(runs[1]))
    verdicts = {one.metric: one for one in compared((runs[0], b), SPREAD).pairs[0].verdicts}
    assert verdicts["peak_memory"].kind is VerdictKind.FASTER
    assert verdicts["latency"].reason is Reason.BUILD_SPREAD


@pytest.mark.parametrize(
    ("ratio", "spread"),
    [
        (0.85, SPREAD),  # 15 % are far beyond 2 %
        (0.98, replace(SPREAD, sd=0.002)),
        (0.98, replace(SPREAD, sd=0.0)),  # no variation was seen
        (0.98, replace(SPREAD, model="other.onnx")),
        (0.98, replace(SPREAD, precision="int8")),
        (0.98, replace(SPREAD, backend="ort-cpu")),
        (0.98, replace(SPREAD, environment=("Epyc", "8", None))),
        (0.98, replace(SPREAD, timing_cache_sha256="c" * 64)),  # these builds read none
    ],
)
def test_a_spread_that_does_not_cover_or_does_not_fit_changes_nothing(ratio, spread) -> None:
    runs = sides(ratio)
    assert headline(runs, spread) == headline(runs)


def test_an_open_verdict_names_no_direction_that_builds_may_turn() -> None:
    wide = CompareConfig(threshold_pct=2.0)
    (pair,) = compare_sides(named(*sides(0.981)), wide).pairs
    assert pair.headline.reason is Reason.INTERVAL_TOO_WIDE
    assert headline_sentence(pair).startswith("B is faster; inconclusive whether by more")
    (pair,) = compare_sides(named(*sides(0.981)), replace(wide, spreads=(SPREAD,))).pairs
    assert pair.headline.reason is Reason.INTERVAL_TOO_WIDE
    assert headline_sentence(pair).startswith("Inconclusive whether B is faster")
    assert "builds of net.onnx differ" in pair.headline.detail


def test_the_spread_is_that_of_the_same_options_model_and_cache() -> None:
    runs = sides(0.88)
    assert headline(runs, SPREAD).is_decided
    assert headline(runs, replace(SPREAD, builds=3)).reason is Reason.BUILD_SPREAD
    renamed = replace(SPREAD, model="old name.onnx", model_sha256="5" * 64)
    assert headline(sides(), renamed).reason is Reason.BUILD_SPREAD
    engines = [[replace(run, job=replace(JOB, subject=ENGINE)) for run in side] for side in sides()]
    assert headline(engines, SPREAD).reason is Reason.BUILD_SPREAD
    runs = in_turn(1.0, jobs=[job(optimized_model="m.onnx", level="1")] * 2)[0]
    assert build_options_of(runs[0]) == {"level": "1"}
    own = replace(SPREAD, sd=0.001)
    other = replace(SPREAD, options={"builder_optimization_level": "1"})
    assert headline(sides(), other).reason is Reason.BUILD_SPREAD
    assert headline(sides(), other, own).is_decided
    pinned = replace(SPREAD, sd=0.0005, timing_cache_sha256="c" * 64)
    runs = tuple(
        tuple(replace(run, build=replace(run.build, timing_cache_sha256="c" * 64)) for run in side)
        for side in sides()
    )
    assert headline(runs, SPREAD).reason is Reason.BUILD_SPREAD
    assert headline(runs, SPREAD, pinned).is_decided


def test_several_builds_or_one_engine_on_both_sides_need_no_spread() -> None:
    assert headline(sides(builds=(6, 6)), SPREAD).is_decided
    assert headline(sides(builds=(1, 6)), SPREAD).reason is Reason.BUILD_SPREAD
    assert headline(sides(shared=True), SPREAD).is_decided


def test_the_gate_and_the_upgrade_call_it_inconclusive() -> None:
    a, b = sides(1.03)
    assert [row.outcome for row in gate(a, b).rows] == [GateOutcome.REGRESSION]
    (row,) = gate(a, b, spreads=[SPREAD]).rows
    assert row.outcome is GateOutcome.INCONCLUSIVE
    assert "builds of net.onnx differ" in row.why
    assert "W-BUILD-SPREAD" in {notice.code for notice in row.notices}
    found = compared(sides(0.97), SPREAD)
    rows = metric_rows(found, UPGRADE_LIMITS, CompareConfig(confidence=0.99, spreads=(SPREAD,)))
    row = rows[0]
    assert (row.kind, row.reason) == (UpgradeKind.INCONCLUSIVE, "build-spread")
    assert is_settled(rows, 60)  # more rounds of the same builds decide nothing
