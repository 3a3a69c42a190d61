import gzip
from pathlib import Path

import pytest

from enginescope.analysis.build_log.build_log_summary import choices, compare_choices
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.records.plan.build_trace import BuildTrace
from tests.formats import build_logs
from tests.formats.build_logs import CONV


def story_of(data: bytes) -> BuildTrace:
    return build_story_of(data, "x.log")[0]


def replaced(*pairs: tuple[str, str]) -> BuildTrace:
    text = build_logs.log_86().decode()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return story_of(text.encode())


def recorded(data: Path) -> BuildTrace:
    path = data / "trt86-h200-process" / "small_convnet.onnx.engine.build.log.gz"
    return story_of(gzip.decompress(path.read_bytes()))


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
    never = choices(
        replaced(("0x00000000000000ac Time: 0.015\n", "0x00000000000000ac Time: inf\n"))
    )
    assert never[-1].evidence == "not timed"
    conv = choices(replaced((f"Layer(CaskConvolution): {CONV}", "Layer(CaskConvolution): other")))[
        -1
    ]
    assert (conv.evidence, conv.trials, conv.tuning_s) == ("none", 0, None)


def test_copies_and_formats_are_told_apart_where_the_log_says_them() -> None:
    copy = choices(replaced(("Layer(Reformat)", "Layer(NoOp)")))[1]
    assert (copy.evidence, copy.chosen_ms, copy.gap_ms) == ("inert", None, None)
    copy = choices(
        replaced(("CONV, Tactic: 0x00000000000003e8".replace("CONV", CONV), f"{CONV}, Tactic: 0x9"))
    )[1]
    assert (copy.evidence, copy.chosen_ms, copy.trials) == ("not timed", None, 2)
    assert shuffle(0.25) == ("ambiguous", None)
    assert shuffle(0.5) == ("timed", 0.5)
    line = "Adding reformat layer: Reformatted Input Tensor 0 to s (x) from Half(9,1,1) to {}"
    assert shuffle(0.25, line.format("Half(8,1,8)")) == ("timed", 0.25)
    output = "Adding reformat layer: Reformatted Output Tensor 0 to s (y) from Half(1) to Half(8,1)"
    assert shuffle(0.25, output) == ("not timed", None)
    conv, gemm = choices(story_of(build_logs.log_10()))
    assert (conv.evidence, conv.chosen_ms, conv.kernel) == ("timed", 0.015, "sm80_half")
    assert (gemm.evidence, gemm.kernel) == ("none", "sm50_gemvx")


SHUFFLES = """\
=============== Computing costs for
*************** Autotuning format combination: Half(8,1,1) -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: 0.5
*************** Autotuning format combination: Half(8,1,8) -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: {second}
*************** Autotuning format combination: Half(8,1:2,1) -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: 0.125
*************** Autotuning format combination: Float(8,1,1) -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: 0.0625
*************** Autotuning format combination: Half(8,1,1), Half(1) -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: 2
*************** Autotuning format combination: Half(8,1) -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: 4
*************** Autotuning format combination: Half -> Half(8,1) ***************
--------------- Timing Runner: s (Shuffle[0x8000000d])
Tactic: 0x00 Time: 3
{added}
Engine Layer Information:
Layer(Shuffle): s, Tactic: 0x00, x (Half[1,8,1]) -> y (Half[1,8])
"""


def shuffle(second: float, added: str = "") -> tuple[str, float | None]:
    (choice,) = choices(story_of(build_logs.prefixed(SHUFFLES.format(second=second, added=added))))
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
    story = recorded(data)
    pairs = compare_choices(story, story)
    assert len(pairs) == len(story.layers)
    assert not any(one.differs for one in pairs)
    line = "Layer({}): same, Tactic: 0x{}, x (Half[1]) -> y (Half[1])\n"
    a = story_of(build_logs.prefixed(line.format("A", 1) + line.format("B", 2)))
    b = story_of(build_logs.prefixed(line.format("A", 1) + line.format("C", 2)))
    assert [one.differs for one in compare_choices(a, b)] == [("type",), ()]
    found = {one.layer.name: one for one in choices(recorded(data))}
    counts = [one.evidence for one in found.values()]
    assert (counts.count("timed"), counts.count("not timed"), counts.count("inert")) == (13, 6, 2)
    assert len(counts) == 21
    down = found["stage0/down + stage0/down/relu"]
    assert (down.chosen_ms, down.fastest.tactic.time_ms) == (0.00465526, 0.0043315)
    assert all(one.gap_ms is None or one.gap_ms >= 0 for one in found.values())
