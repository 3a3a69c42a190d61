import math

import numpy as np
import pytest

from enginescope.analysis.lottery.lottery_report import OutputTally, lottery_report, tactic_draws
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from tests.analysis.compared_plans import Network
from tests.analysis.lottery.drawn import built, draws, report, tensor


def test_planted_variation_is_found_at_its_level_and_names_what_it_holds_for() -> None:
    found = report(build_sd=0.02, process_sd=0.003, seed=1)
    build, process, iteration = found.components
    assert build.low_pct < 2.02 < build.high_pct
    assert build.low_pct > 0.5
    assert process.low_pct < 0.3 < process.high_pct
    assert iteration.sd_pct < process.sd_pct
    assert build.share_pct > 90
    found = report(process_sd=0.003)
    assert found.component("build").low_pct == 0
    assert found.component("process").low_pct > 0
    found = report(build_sd=0.02)
    spread = found.spread
    assert (spread.backend, spread.precision, spread.model) == ("trt", "fp16", "net.onnx")
    assert (spread.environment, spread.builds) == (("Xeon", "2", None), 10)
    assert spread.sd == pytest.approx(math.sqrt(found.components[0].variance))


def test_costs_leave_out_the_timed_iterations_and_layer_profiles() -> None:
    found = report(builds=4)
    assert found.costs.build_s == pytest.approx(10.25)
    assert found.costs.process_s == pytest.approx(2.5 - 0.48)
    assert (found.costs.iteration_s, found.iterations) == (pytest.approx(0.002), 240)
    assert found.best.duration_s <= found.duration_s == 180.0


@pytest.mark.parametrize("seed", range(8))
def test_a_variation_that_is_not_seen_is_not_held_against_comparisons(seed) -> None:
    found = report(process_sd=0.01, seed=seed)
    assert (found.spread.sd == 0) == (found.component("build").low_pct == 0)


def test_few_lost_and_single_builds_are_told() -> None:
    lost = Notice(code="W-LOST-BUILD", message="build 4 is skipped")
    found = lottery_report(draws(builds=3), backend="trt", duration_s=1.0, notices=[lost])
    assert [notice.code for notice in found.notices] == ["W-LOST-BUILD", "I-FEW-BUILDS"]
    assert "W-LOST-BUILD" not in {notice.code for notice in report().notices}
    with pytest.raises(UsageError, match="2 or more"):
        lottery_report(draws(processes=1), backend="trt", duration_s=1.0)


def test_a_drift_that_all_processes_share_is_told() -> None:
    slope = 1 + 0.1 * np.linspace(0, 1, 240)

    def drifting(process):
        (samples,) = process.run.samples
        samples = (replace(samples, values_ms=samples.values_ms * slope),)
        return replace(process, run=replace(process.run, samples=samples))

    made = [replace(one, processes=tuple(map(drifting, one.processes))) for one in draws(builds=6)]
    found = lottery_report(made, backend="trt", duration_s=1.0)
    assert "W-SHARED-DRIFT" in {notice.code for notice in found.notices}
    assert found.component("process").high_pct == 0


def test_outputs_are_compared_with_the_first_build_whenever_it_comes() -> None:
    tally = OutputTally()
    for number, values in ((1, (1.0, 2.0)), (2, (1.0, 2.5)), (1, (1.0, 2.0)), (3, (1.0, 2.0))):
        tally.add(number, tensor(*values))
    tally.add(3, tensor(1.0, 2.25))
    first, second, third = (tally.of(number) for number in (1, 2, 3))
    assert tuple(first.values()) == ("A", 0.0, True)
    assert tuple(second.values()) == ("B", 0.5, True)
    assert tuple(third.values()) == ("A", 0.25, False)
    assert tally.of(4) == {}
    tally.add(5, tensor(1.0, 2.0, 3.0))
    assert tally.of(5)["output_gap"] == math.inf
    tally.add(6, ())
    assert tally.of(6) == {}
    tally = OutputTally()
    for number, value in ((4, 3.0), (2, 1.0), (1, 1.0)):
        tally.add(number, tensor(value))
    found = [(tally.of(at)["outputs"], tally.of(at)["output_gap"]) for at in (1, 2, 4)]
    assert found == [("A", 0.0), ("A", 0.0), ("B", 2.0)]
    made, tally = draws(builds=6), OutputTally()
    for draw in made:
        tally.add(draw.number, tensor(1.0, 2.0 + (draw.number == 5)))
    made = [replace(draw, outputs=tally.of(draw.number)) for draw in made]
    (notice,) = lottery_report(made, backend="trt", duration_s=1.0).notices
    assert notice.code == "W-BUILD-OUTPUTS"
    assert "1 of 6 builds give other outputs than the first (5), by up to 1" in notice.message


def network(tactic: str, ms: float, *, fused: bool = False) -> Network:
    """Three convolutions; the second one's tactic and time as given; or two of them fused."""
    made = Network()
    made.add("same/x", "Convolution", 16, 0.5, side=16)
    made.add("same/x", "Convolution", 16, ms, side=16, tactic_name=tactic)
    if fused:
        made.add("head/x + pool/x", "ConvActPool", 10, 0.5, side=1)
    else:
        made.add("head/x", "Convolution", 10, 0.25, side=2)
        made.add("pool/x", "Pooling", 10, 0.25, side=1)
    return made


def planned(*networks: Network):
    runs = [made.run(f"b{at}") for at, made in enumerate(networks, start=1)]
    return [(at, run.plan, run.profile) for at, run in enumerate(runs, start=1)]


def test_layers_that_change_tactic_or_fusion_are_named_with_what_that_costs() -> None:
    networks = (network(*each) for each in (("h884", 1.0), ("i1688", 1.5), ("h884", 1.25)))
    found = tactic_draws(planned(*networks))
    (layer,) = found.layers
    assert (layer.layer, layer.type) == ("same/x", "Convolution")
    fast, slow = layer.tactics
    assert (fast.tactic, fast.builds, fast.mean_ms) == ("h884", (1, 3), 1.125)
    assert (slow.tactic, slow.builds, slow.mean_ms) == ("i1688", (2,), 1.5)
    assert layer.cost_ms == pytest.approx(0.375)
    assert (found.changed, found.regrouped) == ((0, 1, 0), 0)
    found = tactic_draws(planned(network("h884", 1.0), network("h884", 1.0, fused=True)))
    assert (found.layers, found.regrouped) == ((), 2)
    assert found.changed[1] > 0
    found = tactic_draws(planned(*[network("h884", 1.0)] * 3))
    assert (found.layers, found.regrouped, found.changed) == ((), 0, (0, 0, 0))
    runs = tuple(network(name, 1.0 + at).run("net") for at, name in enumerate(("a", "b", "a")))
    found = lottery_report(draws(builds=3, plans=runs), backend="trt", duration_s=1.0)
    assert [layer.layer for layer in found.layers] == ["same/x"]
    assert [build.changed_layers for build in found.builds] == [0, 1, 0]
    assert {build.engine_sha256 for build in found.builds} == {
        built(number).engine_sha256 for number in (1, 2, 3)
    }
