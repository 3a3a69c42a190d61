import pytest

from enginescope.analysis.upgrade.rows import MOST_LAYERS, layer_differences
from enginescope.core.record import replace
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.run import OutcomeKind, Run
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import process


def profiled(*nodes: tuple[str, str, float], seed: int = 0) -> Run:
    """A process of ONNX Runtime whose profile has these nodes: name, operator, milliseconds."""
    layers = tuple(
        LayerTiming(index=at, name=name, kind=kind, mean_ms=ms)
        for at, (name, kind, ms) in enumerate(nodes)
    )
    return replace(process(1.0, seed=seed), profile=Profile(source="onnxruntime", layers=layers))


OLD = profiled(("conv", "Conv", 1.0), ("relu", "Relu", 0.5), ("fc", "Gemm", 0.25))
NEW = profiled(("conv", "FusedConv", 1.2), ("fc", "Gemm", 0.25))


def test_causes_add_up_to_the_difference_of_the_plans() -> None:
    found = layer_differences((run_a(),), (run_b(),))
    assert sum(one.difference_ms for one in found.causes) == pytest.approx(
        found.new_ms - found.old_ms
    )
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
