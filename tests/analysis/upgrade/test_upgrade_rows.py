import math

import numpy as np
import pytest

from enginescope.analysis.upgrade.rows import (
    MOST_LAYERS,
    Drift,
    drift_of,
    layer_differences,
    metric_rows,
    output_gap,
    output_row,
    without_wins,
)
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.run import OutcomeKind, Run, TensorValues
from enginescope.records.tensor import DataType
from enginescope.records.verdict.upgrade import UPGRADE_LIMITS, UpgradeKind
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import in_turn, named, process

TERMS = CompareConfig(threshold_pct=2.0, confidence=0.99)


def rows_on(*sides, **more):
    return metric_rows(compare_sides(named(*sides), TERMS), UPGRADE_LIMITS, TERMS, **more)


def rows_of(ratio: float, **how):
    return rows_on(*in_turn(ratio, **how))


def test_the_latency_decides() -> None:
    for ratio, kind in (
        (1.03, UpgradeKind.WORSE),
        (1.0, UpgradeKind.SAFE),
        (0.9, UpgradeKind.BETTER),
    ):
        row = rows_of(ratio)[0]
        assert (row.metric, row.kind, row.decides) == ("latency", kind, True), ratio


def test_the_better_side_the_host_and_wins_without_outputs() -> None:
    row = rows_of(0.99, noise=0.009, rounds=10, seed=4)[0]
    assert (row.kind, row.reason) == (UpgradeKind.SAFE, "not-worse")
    old, new = in_turn(1.0)
    old, new = [with_enqueue(run, 0.1) for run in old], [with_enqueue(run, 0.2) for run in new]
    (row,) = [row for row in rows_on(old, new) if row.metric == "enqueue"]
    assert (row.kind, row.decides) == (UpgradeKind.WORSE, False)
    assert "enqueue" not in {row.metric for row in rows_of(1.0)}
    faster, *_ = without_wins(rows_of(0.9))
    slower, *_ = without_wins(rows_of(1.1))
    assert (faster.kind, faster.reason) == (UpgradeKind.INCONCLUSIVE, "outputs-first")
    assert slower.kind is UpgradeKind.WORSE


def test_memory_counts_and_the_load_and_the_runtime_do_not() -> None:
    old, new = in_turn(1.0)
    new = tuple(replace(run, peak_memory_bytes=120 << 20) for run in new)
    rows = {row.metric: row for row in rows_on(old, new)}
    assert (rows["peak_memory"].kind, rows["peak_memory"].decides) == (UpgradeKind.WORSE, True)
    assert not rows["load"].decides
    # Above the floor too.
    assert memory_row(300, 400, mib(200, 295))[0].kind is UpgradeKind.SAFE
    row, _ = memory_row(300, 400, mib(200, 240))
    assert (row.kind, row.library) == (UpgradeKind.WORSE, (200 * 2**20, 240 * 2**20))
    assert "the runtime by itself" in row.message
    assert memory_row(300, 400)[0].kind is UpgradeKind.WORSE  # not known what the runtime takes
    assert memory_row(300, 301) == (memory_row(300, 301)[0], 0)
    assert memory_row(300, 400)[1] == 1


def memory_row(before_mib: float, after_mib: float, library: dict | None = None):
    sides = (
        tuple(replace(run, peak_memory_bytes=int(mib * 2**20)) for run in side)
        for side, mib in zip(in_turn(1.0), (before_mib, after_mib), strict=True)
    )
    asked: list[int] = []
    rows = rows_on(*sides, library=lambda: asked.append(1) or (library or {}))
    (row,) = (row for row in rows if row.metric == "peak_memory")
    return row, len(asked)


def mib(before: float, after: float) -> dict:
    return {"peak_memory": (before * 2**20, after * 2**20)}


def test_a_small_model_is_not_blamed_for_its_runtime() -> None:
    """57.1 to 64.8 MiB with a 90 kB model was "not safe"."""
    row, _ = memory_row(57.1, 64.8)
    assert (row.kind, row.reason, row.library) == (UpgradeKind.SAFE, "small-growth", None)
    row, _ = memory_row(57.1, 64.8, mib(50.0, 57.6))
    assert row.kind is UpgradeKind.SAFE
    assert row.message == (
        "7.70 MiB more; the runtime by itself, with an empty model: 50.0 MiB → 57.6 MiB; "
        "a model may take 16.0 MiB more"
    )


def with_enqueue(run: Run, ratio: float) -> Run:
    enqueue = Samples(metric="enqueue", values_ms=frozen(ratio * run.samples[0].values_ms))
    return replace(run, samples=(*run.samples, enqueue))


def values(*numbers: float) -> tuple[TensorValues, ...]:
    data = np.array(numbers, np.float32)
    return (TensorValues(name="y", dtype=DataType.FP32, shape=data.shape, data=data),)


def test_the_gap_of_outputs_is_apart_from_the_noise_of_a_stack() -> None:
    assert output_gap(values(1, 2), values(1, 2)) == 0
    assert output_gap(values(1, 2), values(1, 2.5)) == 0.5
    assert output_gap(values(1, math.nan), values(1, math.nan)) == 0
    assert output_gap(values(1, math.nan), values(1, 2)) == math.inf
    assert output_gap(values(1), values(1, 2)) == math.inf
    assert output_gap(values(1, math.inf), values(1, math.inf)) == 0
    gaps = {(0, 1): [0.1], (2, 3): [0.2], (0, 2): [0.5], (0, 3): [0.4], (1, 2): [0.6], (1, 3): [1]}
    assert drift_of(gaps, 2) == Drift(old=0.1, new=0.2, between=0.4)


def side(*, fails: bool = False) -> ValidatedSide:
    from enginescope.analysis.accuracy.output_diff import OutputDiff, OutputReason, SideDiff
    from enginescope.analysis.errors.output_tolerance import tolerance_named

    reasons = (OutputReason(code="max-abs", message="too far"),) if fails else ()
    types = {"reference_dtype": DataType.FP32, "dtype": DataType.FP32}
    output = OutputDiff(name="y", tolerance=tolerance_named("fp32"), reasons=reasons, **types)
    diff = SideDiff(label="s", outputs=(output,), samples=(), worst=None)
    return ValidatedSide(label="s", tolerance="fp32", tolerance_why="", diff=diff)


@pytest.mark.parametrize(
    ("old", "new", "drift", "reason", "kind"),
    [
        (0, 0, (0, 0, 0), "identical", UpgradeKind.SAFE),
        (0, 0, (0, 1e-6, 1e-6), "within-repeats", UpgradeKind.SAFE),
        (0, 0, (0, 1e-7, 1e-6), "within-limits", UpgradeKind.SAFE),
        (0, 1, (0, 0, 1), "outputs-fail", UpgradeKind.WORSE),
        (1, 0, (0, 0, 1), "old-fails", UpgradeKind.BETTER),
        (1, 1, (0, 0, 0), "both-fail", UpgradeKind.WORSE),
    ],
)
def test_outputs(old, new, drift, reason, kind) -> None:
    sides = [[side(), side(fails=bool(fails))] for fails in (old, new)]
    row = output_row(*sides, Drift(old=drift[0], new=drift[1], between=drift[2]))
    assert (row.reason, row.kind) == (reason, kind)
    if kind is not UpgradeKind.SAFE:
        assert "1 of 2 processes" in row.message


def built(runs: list[Run], *, from_cache: bool = False) -> list[Run]:
    build = BuildReport(engine="e", engine_bytes=1, from_cache=from_cache)
    return [replace(run, build=build) for run in runs]


def test_each_verdict_has_the_level_of_evidence_of_its_runs() -> None:
    old, new = in_turn(1.0)
    assert evidence_level(built(old), built(new)) is EvidenceLevel.BUILDS
    assert evidence_level(built(old, from_cache=True), built(new)) is EvidenceLevel.INTERLEAVED
    assert evidence_level(built(old), new) is EvidenceLevel.INTERLEAVED
    assert evidence_level(old, new) is EvidenceLevel.INTERLEAVED  # a session keeps nothing it made
    apart = [[process(1.0, seed=at) for at in range(3)] for _ in "ab"]
    assert evidence_level(*apart) is EvidenceLevel.PROCESSES
    assert evidence_level(apart[0], [process(1.0)]) is EvidenceLevel.SAMPLES
    assert evidence_level(apart[0], []) is None
    for sides, level in (
        (in_turn(1.05), EvidenceLevel.INTERLEAVED),
        (([process(1.0)], [process(1.1)]), EvidenceLevel.SAMPLES),
    ):
        found = compare_sides(named(*sides))
        assert {verdict.evidence for verdict in found.pairs[0].verdicts} == {level}
        rows = metric_rows(found, UPGRADE_LIMITS, CompareConfig())
        assert {row.verdict.evidence for row in rows if row.verdict} == {level}


def profiled(*nodes: tuple[str, str, float]) -> Run:
    """A process of ONNX Runtime whose profile has these nodes: name, operator, milliseconds."""
    layers = tuple(
        LayerTiming(index=at, name=name, kind=kind, mean_ms=ms)
        for at, (name, kind, ms) in enumerate(nodes)
    )
    return replace(process(1.0), profile=Profile(source="onnxruntime", layers=layers))


OLD = profiled(("conv", "Conv", 1.0), ("relu", "Relu", 0.5), ("fc", "Gemm", 0.25))
NEW = profiled(("conv", "FusedConv", 1.2), ("fc", "Gemm", 0.25))


def test_causes_add_up_to_the_difference_of_the_plans() -> None:
    found = layer_differences((run_a(),), (run_b(),))
    apart_ms = found.new_ms - found.old_ms
    assert sum(cause.difference_ms for cause in found.causes) == pytest.approx(apart_ms)
    changes = {change for one in found.layers for change in one.changes}
    assert {"only old", "only new", "precision FP32 → FP16", "tactic"} <= changes
    many = profiled(*((f"n{at}", "Conv", 1.0) for at in range(50)))
    found = layer_differences((many,), (many,))
    assert (len(found.layers), found.paired, found.differing) == (MOST_LAYERS, 50, 0)


def test_nodes_of_a_profile_are_paired_by_name_with_their_medians() -> None:
    found = layer_differences((OLD,), (NEW,))
    assert (found.old, found.new, found.paired, found.differing) == (3, 2, 2, 1)
    assert (found.only_old, found.only_new) == (1, 0)
    assert (found.old_ms, found.new_ms) == (pytest.approx(1.75), pytest.approx(1.45))
    rows = {one.name: (one.changes, one.difference_ms) for one in found.layers}
    assert rows["relu"] == (("only old",), pytest.approx(-0.5))
    assert rows["conv"] == (("kind",), pytest.approx(0.2))
    assert rows["fc"] == ((), pytest.approx(0.0))
    paused = replace(OLD.profile.layers[0], mean_ms=9.0, median_ms=1.0)
    others = (replace(one, median_ms=one.mean_ms) for one in OLD.profile.layers[1:])
    profile = replace(OLD.profile, layers=(paused, *others))
    found = layer_differences((replace(OLD, profile=profile),), (OLD,))
    assert (found.old_ms, found.new_ms) == (pytest.approx(1.75), pytest.approx(1.75))


def test_the_first_process_that_has_layers_counts_unless_the_host_enqueues() -> None:
    old, new = (replace(run, profile=replace(run.profile, mode="host")) for run in (OLD, NEW))
    found = layer_differences((old,), (new,))
    assert (found.paired, found.only_old) == (2, 1)
    assert (found.old_ms, found.new_ms) == (None, None)
    assert {layer.difference_ms for layer in found.layers} == {None}
    bare, failed = process(1.0, seed=3), replace(OLD, samples=())
    failed = replace(failed, outcome=replace(failed.outcome, kind=OutcomeKind.CRASHED))
    assert layer_differences((bare,), (NEW,)) is None
    assert layer_differences((failed,), (NEW,)) is None
    assert layer_differences((bare, OLD), (bare, NEW)).paired == 2
