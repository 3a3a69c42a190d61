import gzip
from pathlib import Path

import pytest

from enginescope.analysis.build_log.build_log_summary import (
    best_trial,
    choices,
    compare_choices,
    fusion_groups,
    reformat_costs,
    step_changes,
    trial_ms,
    tuning_costs,
    tuning_total_s,
)
from enginescope.records.plan.build_trace import BuildTrace, TacticTrial
from tests.formats import build_logs
from tests.formats.build_logs import CONV, story_of

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
    added = "Adding reformat layer: Reformatted Input Tensor 0 to c (b) from Half(8,1) to "
    return build_logs.prefixed("".join(lines) + added + "Float(8,1)")


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


def replaced(*pairs: tuple[str, str]) -> BuildTrace:
    text = build_logs.log_86().decode()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return story_of(text.encode())


def test_the_chosen_tactic_against_the_fastest_tried() -> None:
    constant, copy, conv = choices(story_of(build_logs.log_86()))
    assert (constant.evidence, constant.fastest) == ("inert", None)
    assert (conv.evidence, conv.chosen_ms, conv.kernel) == ("timed", 0.015, "sm80_half")
    assert conv.fastest.inputs == ("Float(64,16,4,1)",)
    assert (conv.fastest.tactic.name, conv.fastest.tactic.time_ms) == ("sm80_small", 0.01)
    assert conv.gap_ms == pytest.approx(0.005)
    assert (conv.combinations, conv.trials, conv.tuning_s) == (2, 4, 0.75)
    assert (copy.evidence, copy.chosen_ms, copy.trials) == ("timed", 0.004, 2)
    assert copy.gap_ms == pytest.approx(0.001)
    story = replaced(("Tactic: 0x00000000000000ac, Ref", "Tactic: 0x00000000000000ff, Ref"))
    conv = choices(story)[-1]
    assert (conv.evidence, conv.chosen_ms, conv.gap_ms) == ("not timed", None, None)
    assert conv.fastest is not None
    never = replaced(("0x00000000000000ac Time: 0.015\n", "0x00000000000000ac Time: inf\n"))
    assert choices(never)[-1].evidence == "not timed"
    story = replaced((f"Layer(CaskConvolution): {CONV}", "Layer(CaskConvolution): other"))
    conv = choices(story)[-1]
    assert (conv.evidence, conv.trials, conv.tuning_s) == ("none", 0, None)


def test_copies_and_formats_are_told_apart_where_the_log_says_them() -> None:
    copy = choices(replaced(("Layer(Reformat)", "Layer(NoOp)")))[1]
    assert (copy.evidence, copy.chosen_ms, copy.gap_ms) == ("inert", None, None)
    copy = choices(replaced((f"{CONV}, Tactic: 0x00000000000003e8", f"{CONV}, Tactic: 0x9")))[1]
    assert (copy.evidence, copy.chosen_ms, copy.trials) == ("not timed", None, 2)
    assert (shuffle(0.25), shuffle(0.5)) == (("ambiguous", None), ("timed", 0.5))
    line = "Adding reformat layer: Reformatted Input Tensor 0 to s (x) from Half(9,1,1) to {}"
    assert shuffle(0.25, line.format("Half(8,1,8)")) == ("timed", 0.25)
    output = "Adding reformat layer: Reformatted Output Tensor 0 to s (y) from Half(1) to Half(8,1)"
    assert shuffle(0.25, output) == ("not timed", None)
    conv, gemm = choices(story_of(build_logs.log_10()))
    assert (conv.evidence, conv.chosen_ms, conv.kernel) == ("timed", 0.015, "sm80_half")
    assert (gemm.evidence, gemm.kernel) == ("none", "sm50_gemvx")


#: Inputs that a layer was timed with, and the time.
TIMED = {
    "Half(8,1:2,1)": "0.125",
    "Float(8,1,1)": "0.0625",
    "Half(8,1,1), Half(1)": "2",
    "Half(8,1)": "4",
    "Half": "3",
}


def shuffle(second: float, added: str = "") -> tuple[str, float | None]:
    text = "=============== Computing costs for\n"
    for inputs, ms in {"Half(8,1,1)": "0.5", "Half(8,1,8)": second, **TIMED}.items():
        text += (
            f"{'*' * 15} Autotuning format combination: {inputs} -> Half(8,1) {'*' * 15}\n"
            f"--------------- Timing Runner: s (Shuffle[0x8000000d])\nTactic: 0x00 Time: {ms}\n"
        )
    text += f"{added}\nEngine Layer Information:\n"
    text += "Layer(Shuffle): s, Tactic: 0x00, x (Half[1,8,1]) -> y (Half[1,8])\n"
    (choice,) = choices(story_of(build_logs.prefixed(text)))
    return choice.evidence, choice.chosen_ms


def test_two_builds_side_by_side() -> None:
    a = story_of(build_logs.log_86())
    b = replaced(
        ("Tactic: 0x00000000000000ac, Ref", "Tactic: 0x00000000000000ab, Ref"),
        ("(Half[1,4:8,4,4]) -> y (Half[1,4:8,4,4])", "(Float[1,4,4,4]) -> y (Float[1,4,4,4])"),
        ("to Half(8,1:8,4,1)\n", "to Float(64,16,4,1)\n"),
        ("Layer(Constant): bias", "Layer(Constant): new"),
    )
    pairs = compare_choices(a, b)
    assert [(one.name, one.differs) for one in pairs] == [
        (CONV, ("tactic", "precision", "formats")),
        ("bias", ("layer",)),
        ("new", ("layer",)),
        (f"Reformatting CopyNode for Input Tensor 0 to {CONV}", ()),
    ]
    assert pairs[0].change_ms == pytest.approx(-0.005)
    assert (pairs[1].b, pairs[2].a, pairs[1].change_ms) == (None, None, None)


def test_a_build_against_itself_and_choices_of_the_recorded_log(data: Path) -> None:
    path = data / "trt86-h200-process" / "small_convnet.onnx.engine.build.log.gz"
    story = story_of(gzip.decompress(path.read_bytes()))
    pairs = compare_choices(story, story)
    assert len(pairs) == len(story.layers)
    assert not any(one.differs for one in pairs)
    line = "Layer({}): same, Tactic: 0x{}, x (Half[1]) -> y (Half[1])\n"
    a = story_of(build_logs.prefixed(line.format("A", 1) + line.format("B", 2)))
    b = story_of(build_logs.prefixed(line.format("A", 1) + line.format("C", 2)))
    assert [one.differs for one in compare_choices(a, b)] == [("type",), ()]
    found = {one.layer.name: one for one in choices(story)}
    counts = [one.evidence for one in found.values()]
    assert (counts.count("timed"), counts.count("not timed"), counts.count("inert")) == (13, 6, 2)
    assert len(counts) == 21
    down = found["stage0/down + stage0/down/relu"]
    assert (down.chosen_ms, down.fastest.tactic.time_ms) == (0.00465526, 0.0043315)
    assert all(one.gap_ms is None or one.gap_ms >= 0 for one in found.values())
