from pathlib import Path

import pytest

from enginescope.analysis.build_log.build_log_summary import (
    best_trial,
    fusion_groups,
    reformat_costs,
    step_changes,
    trial_ms,
    tuning_costs,
    tuning_total_s,
)
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.records.plan.build_trace import BuildTrace, TacticTrial
from tests.formats import build_logs
from tests.formats.build_logs import CONV


def story_of(data: bytes) -> BuildTrace:
    return build_story_of(data, "x.log")[0]


STORY = story_of(build_logs.log_86())


def test_steps_with_what_happened_before_each_and_fusions_of_fusions() -> None:
    steps = {one.name: one for one in step_changes(STORY)}
    assert steps["Original"].change is None
    assert (steps["scale fusion"].change, steps["scale fusion"].fused) == (-1, 0)
    assert (steps["scale fusion"].removed, steps["scale fusion"].retyped) == (1, 1)
    assert (steps["concat removal"].change, steps["concat removal"].fused) == (-2, 2)
    assert steps["reformat layers"].change == 1
    constant, conv = fusion_groups(STORY)
    assert (constant.nodes, constant.in_engine) == (("bias", "(Unnamed Layer* 3) [Shuffle]"), False)
    assert (conv.name, conv.nodes, conv.in_engine) == (CONV, ("conv", "add", "relu"), True)
    assert conv.rules == ("ConvEltwiseSumFusion", "ConvReluFusion")


def test_tuning_by_layer() -> None:
    costs = tuning_costs(STORY)
    assert [(one.name, one.kind, one.combinations, one.trials) for one in costs] == [
        (CONV, "layer", 2, 4),
        ("Optimizer Reformat(x -> <out>)", "reformat", 1, 2),
        (None, "layer", 1, 0),
    ]
    assert [one.pruned for one in costs] == [8, 0, 0]
    assert tuning_total_s(STORY) == 0.875
    assert costs[0].share_pct == pytest.approx(100 * 0.75 / 0.875)
    assert (costs[2].tuning_s, costs[2].share_pct) == (None, None)
    story = story_of(build_logs.prefixed(build_logs.TUNING_84))
    assert tuning_total_s(story) is None
    assert [(one.tuning_s, one.share_pct) for one in tuning_costs(story)] == [(None, None)]


def test_a_conversion_takes_the_time_of_its_tactic_and_unknown_times_come_last() -> None:
    (cost,) = reformat_costs(STORY)
    assert (cost.became, cost.time_ms, len(cost.tried)) == ("Reformat", 0.004, 2)
    data = build_logs.log_86()
    cut = data[: data.index(b"Engine Layer Information")]
    (cost,) = reformat_costs(story_of(cut.rpartition(b"\n")[0]))
    assert (cost.became, cost.time_ms) == (None, 0.003)
    a, b = ("Optimizer Reformat(a -> <out>)", 0.5), ("Optimizer Reformat(b -> <out>)", 0.25)
    (cost,) = reformat_costs(story_of(reformats(a, b)))
    assert (cost.time_ms, len(cost.tried)) == (0.25, 1)
    (cost,) = reformat_costs(story_of(reformats(a, ("Optimizer Reformat(<in> -> z)", 0.1))))
    assert cost.time_ms == 0.5
    (cost,) = reformat_costs(story_of(reformats()))
    assert (cost.time_ms, cost.tried) == (None, ())
    timed, never = (TacticTrial(runner=None, tactic="1", time_ms=one) for one in (2.0, None))
    assert best_trial((never, timed)) is timed
    assert best_trial((never,)) is None
    assert trial_ms(timed) < trial_ms(never) == trial_ms(None)


def reformats(*blocks: tuple[str, float]) -> bytes:
    lines = [
        "=============== Computing reformatting costs:\n"
        "*************** Autotuning Reformat: Half(8,1) -> Float(8,1) ***************\n"
        f"--------------- Timing Runner: {name} (Reformat[0x80000006])\n"
        f"Tactic: 0x01 Time: {time_ms}\n"
        for name, time_ms in blocks
    ]
    added = (
        "Adding reformat layer: Reformatted Input Tensor 0 to c (b) from Half(8,1) to Float(8,1)"
    )
    return build_logs.prefixed("".join(lines) + added)


def test_seconds_of_a_real_log_are_within_those_of_the_whole(shared: Path) -> None:
    story = story_of((shared / "trt86-h200" / "resnet18.engine.build.log").read_bytes())
    total_s, stage_s = tuning_total_s(story), story.stage_s("tuning")
    assert total_s is not None
    assert stage_s is not None
    assert 0.8 * stage_s < total_s < stage_s
    assert sum(one.tuning_s or 0 for one in tuning_costs(story)) == pytest.approx(total_s)
    steps = step_changes(story)
    assert steps[0].layers + sum(one.change or 0 for one in steps) == steps[-1].layers == 58
    whole = [one for one in fusion_groups(story) if one.in_engine]
    assert len(whole) == 17
    assert all(" + ".join(one.nodes) == one.name for one in whole)
