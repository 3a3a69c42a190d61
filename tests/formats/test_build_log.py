import gzip
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.core.errors import FormatError
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.records.plan.build_trace import BuildTrace, TimingCacheUse
from enginescope.records.tensor import DataType
from tests.formats import build_logs
from tests.formats.build_logs import CONV

MIB = 2**20


def story_of(data: bytes) -> BuildTrace:
    story, _ = build_story_of(data, "x.log")
    return story


def codes(data: bytes) -> list[str]:
    return [one.code for one in build_story_of(data, "x.log")[1]]


def test_steps_and_the_changes_between_them() -> None:
    story = story_of(build_logs.log_86())
    steps = [("Original", 5), ("dead-layer removal", 5), ("Myelin optimization", 4)]
    steps += [("scale fusion", 3)]
    assert [(one.name, one.layers) for one in story.steps[:4]] == steps
    assert [(one.action, one.rule, one.names, one.step) for one in story.changes] == [
        ("fuse", "ConstShuffleFusion", ("bias", "(Unnamed Layer* 3) [Shuffle]"), 2),
        ("retype", "MatMulToConvTransform", ("fc",), 3),
        ("remove", "ShuffleErasure", ("flat",), 3),
        ("fuse", "ConvEltwiseSumFusion", ("conv", "add"), 4),
        ("fuse", "ConvReluFusion", ("conv + add", "relu"), 4),
    ]
    assert story.changes[1].detail == "MATRIX_MULTIPLY to CONVOLUTION"
    assert story.changes[-1].nodes == ("conv", "add", "relu")


def test_a_name_with_a_plus_of_its_own_is_not_taken_apart() -> None:
    story = story_of(build_logs.prefixed("A: Fusing w + b with x\nA: Fusing w + b + x with y\n"))
    assert story.changes[-1].nodes == ("w + b", "x", "y")


def test_tuning_of_8_6() -> None:
    story = story_of(build_logs.log_86())
    named, cached, reformat = story.tuned
    assert (named.name, named.kind, named.tuning_s) == (CONV, "layer", 0.75)
    assert (cached.name, len(cached.combinations), cached.tuning_s) == (None, 1, None)
    assert (reformat.name, reformat.kind) == ("Optimizer Reformat(x -> <out>)", "reformat")
    first, second = named.combinations
    assert first.inputs == first.outputs == ("Float(64,16,4,1)",)
    assert [(one.name, one.tactic, one.time_ms) for one in first.trials] == [
        ("sm80_big", "0x00000000000000aa", 0.02),
        ("sm80_small", "0x00000000000000ab", 0.01),
    ]
    assert {one.runner for one in first.trials} == {"CaskConvolution"}
    assert (first.available, first.pruned) == (10, 8)
    assert first.without_tactics == ("CudnnConvolution",)
    assert (first.chosen_runner, first.chosen_tactic) == ("CaskConvolution", "0x00000000000000ab")
    assert [one.time_ms for one in second.trials] == [0.015, None]
    assert second.available is None
    (added,) = story.reformats
    assert (added.tensor, added.target) == ("x", "Half(8,1:8,4,1)")
    assert added.source == "Float(64,16,4,1)"


def test_inputs_are_told_apart() -> None:
    text = "*************** Autotuning format combination: Half(8,1:8), Float(1) -> Half(8) *****\n"
    (block,) = story_of(build_logs.prefixed(text)).tuned
    assert block.combinations[0].inputs == ("Half(8,1:8)", "Float(1)")
    (block,) = story_of(build_logs.prefixed(text.replace("Half(8,1:8), Float(1) ->", " ->"))).tuned
    assert (block.combinations[0].inputs, block.combinations[0].outputs) == ((), ("Half(8)",))


def test_layers_of_8_6() -> None:
    constant, copy, conv = story_of(build_logs.log_86()).layers
    assert (constant.type, constant.name, constant.inputs) == ("Constant", "bias", ())
    assert copy.name == f"Reformatting CopyNode for Input Tensor 0 to {CONV}"
    assert copy.inputs[0].vector_width == 1
    (tensor,) = conv.inputs
    assert (tensor.dtype, tensor.shape) == (DataType.FP16, (1, 4, 4, 4))
    assert (tensor.vector_width, tensor.vector_axis, tensor.format) == (8, 1, "Half[1,4:8,4,4]")
    assert conv.tactic == "0x00000000000000ac"


def test_a_second_list_of_layers_repeats_the_first() -> None:
    again = build_logs.prefixed(build_logs.LAYERS_86)
    assert len(story_of(build_logs.log_86() + again).layers) == 3
    long = b"Layers:\n" + build_logs.LONG_LAYERS.encode()
    assert len(story_of(build_logs.log_86() + long).layers) == 3
    title = b"Engine Layer Information:"
    assert len(story_of(build_logs.log_86().replace(title, b"Layers:\n" + title)).layers) == 3


def test_lines_that_only_begin_as_known_ones_and_dimensions_that_are_none() -> None:
    odd = "Layer(Constant) and more\nName: a, LayerType: b, and more\n"
    odd += "Layer(Shuffle): s, Tactic: 0x5, a (Float[1,n]) -> b (Half[4])\n"
    (layer,) = story_of(build_logs.prefixed(f"Engine Layer Information:\n{odd}")).layers
    assert (layer.name, layer.inputs[0].shape, layer.outputs[0].shape) == ("s", None, (4,))
    odd = "Layer: x Scratch Memory: 1\nFusing a\nConvert layer type of fc\n"
    odd += "".join(f"{mark * 15} and more\n" for mark in "=*->")
    timed = "--------------- Timing Runner: s (Shuffle)\nTactic: 0x1 Time: 0.5\n"
    story = story_of(build_logs.prefixed(odd + timed))
    assert (story.layer_memory, story.changes) == ((), ())
    (block,) = story.tuned
    assert (block.name, block.combinations[0].trials[0].runner) == ("s", "Shuffle")


def test_memory_stages_seconds_and_cache() -> None:
    story = story_of(build_logs.log_86())
    change, snapshot = story.memory
    assert (change.name, snapshot.name) == ("Init CUDA", "Builder begin")
    assert (change.host_change_bytes, change.device_change_bytes) == (2 * MIB, -MIB)
    assert (change.host_bytes, change.device_bytes) == (25 * MIB, 526 * MIB)
    assert (snapshot.host_change_bytes, snapshot.host_bytes) == (None, 490 * MIB)
    assert story.memory_totals["Total Host Persistent Memory"] == 134464
    assert story.memory_totals["Peak TRT GPU allocators"] == 26 * MIB
    (layer,) = story.layer_memory
    assert (layer.name, layer.scratch_bytes) == (CONV, 64)
    assert story.stage_s("tuning") == 1.5
    assert story.stage_s("whole build") == 3
    assert story.stage_s("parsing") is None
    assert story.cache == TimingCacheUse(loaded=7, stored=9, hits=7)


def test_blocks_of_10_have_names_without_a_runner() -> None:
    story = story_of(build_logs.log_10())
    assert [one.name for one in story.tuned] == ["conv1", "conv2"]
    first, second = story.tuned[0].combinations
    assert (first.without_tactics, first.trials) == (("CaskConvolution",), ())
    assert second.trials[0].time_ms == 0.015


def test_layers_of_10() -> None:
    conv, gemm = story_of(build_logs.log_10()).layers
    assert (conv.type, conv.tactic_name) == ("CaskConvolution", "sm80_half")
    assert conv.tactic == "0x00000000000000ac"
    assert (conv.inputs[0].name, conv.inputs[0].vector_width) == ("x", None)
    assert conv.outputs[0].shape == (1, 4, None, 4)
    assert (gemm.tactic, gemm.tactic_name, gemm.outputs) == (None, "sm50_gemvx", ())
    assert [one.name for one in gemm.inputs] == ["y", "__mye5_dconst"]
    assert (gemm.inputs[0].dtype, gemm.inputs[0].vector_width) == (DataType.FP16, 8)


def test_kernel_names_of_8_4() -> None:
    (block,) = story_of(build_logs.prefixed(build_logs.TUNING_84)).tuned
    first, only = block.combinations[0].trials
    assert (first.runner, first.name, first.time_ms) == ("CaskGemmConvolution", "sm75_gemm", 0.5)
    assert (only.tactic, only.name, only.time_ms) == ("0x000000000000000b", None, None)
    assert block.tuning_s is None


def test_blocks_of_7_have_no_heads() -> None:
    story = story_of(build_logs.prefixed(build_logs.TUNING_7, "[TensorRT] VERBOSE: "))
    assert [(one.kind, one.name, len(one.combinations)) for one in story.tuned] == [
        ("reformat", "Optimizer Reformat", 1),
        ("layer", "a", 2),
        ("layer", "b", 1),
    ]
    assert story.tuned[1].combinations[0].trials[0].time_ms == 0.005
    assert story.changes[0].names == ("MatMul_1", "Bn_2")
    (layer,) = story.layers
    (tensor,) = layer.inputs
    assert (layer.tactic, tensor.name, tensor.shape) == ("-5", "a", (None, 3, 300, 300))


@pytest.mark.parametrize(
    "prefix",
    [
        *("[03/14/2025-09:26:53] [V] [TRT] ", "[03/14/2025-09:26:53] [TRT] [V] "),
        *("[03/14/2025-09:26:53] [V] ", "[TensorRT] VERBOSE: "),
        *("[TRT] [V] ", "[V]     ", "[TRT]    ", ""),
    ],
)
def test_prefixes_of_several_loggers(prefix) -> None:
    text = build_logs.GRAPH + build_logs.TUNING_86 + build_logs.MEMORY + build_logs.LAYERS_86
    assert story_of(build_logs.prefixed(text, prefix)) == story_of(build_logs.log_86())


def test_warnings_and_errors_once_each() -> None:
    lines = (
        b"[03/14/2025-09:26:53] [W] [TRT] low\n[TensorRT] ERROR: bad\r\n[W] low\n"
        b"[03/14/2025-09:26:53] [E] Error[1]: worse\n"
    )
    messages = story_of(build_logs.log_86() + lines).messages
    assert [(one.level, one.text) for one in messages] == [
        ("warning", "low"),
        ("error", "bad"),
        ("error", "Error[1]: worse"),
    ]


def test_notices_say_what_is_missing() -> None:
    assert codes(build_logs.log_86()) == []
    assert codes(build_logs.log_10()) == []
    assert codes(build_logs.prefixed(build_logs.TUNING_7, "[TensorRT] VERBOSE: ")) == []
    plain = build_logs.prefixed(build_logs.MEMORY, "[03/14/2025-09:26:53] [I] [TRT] ")
    assert codes(plain) == ["W-LOG-NOT-VERBOSE"]
    assert codes(build_logs.prefixed(build_logs.GRAPH)) == ["W-NO-TUNING"]
    assert codes(build_logs.prefixed(build_logs.GRAPH + build_logs.TUNING_86)) == ["W-NO-CHOICES"]
    cut = build_logs.log_86()
    cut = cut[: cut.index(b"Adding reformat layer")]
    assert codes(cut) == ["W-LOG-UNFINISHED"]
    assert codes(build_logs.log_86() + b"\xff\n") == ["I-ENCODING"]
    assert codes(build_logs.log_86() * 2) == ["W-SEVERAL-BUILDS"]


def test_the_page_explains_every_notice() -> None:
    root = Path(__file__).parents[2]
    code = (root / "src/enginescope/formats/build_log/build_log.py").read_text()
    page = (root / "docs/reference/build-logs.md").read_text()
    assert set(re.findall(r'"(W-[A-Z-]+)"', code)) == set(re.findall(r"`(W-[A-Z-]+)`", page))


def test_what_is_no_build_log() -> None:
    with pytest.raises(FormatError, match="no line of a TensorRT build"):
        build_story_of(b"hello\n[W] careful\n", "x.log")
    with pytest.raises(FormatError):
        build_story_of(b"", "x.log")


def test_times_before_any_format_are_kept() -> None:
    data = build_logs.log_86()
    story = story_of(data[data.index(b"Tactic Name: sm80_small") - len(build_logs.PREFIX) :])
    trials = story.tuned[0].combinations[0].trials
    assert (trials[0].tactic, trials[0].runner) == ("0x00000000000000ab", None)
    assert story.tuned[0].combinations[0].inputs == ()
    (block,) = story_of(build_logs.prefixed("Tactic: 0x01 Time: 0.5\n")).tuned
    assert (block.name, block.line, block.combinations[0].line) == (None, 1, 1)


def test_figures_beyond_reason_are_left_out() -> None:
    (block,) = story_of(build_logs.prefixed("Tactic: 0x01 Time: -0.5\n")).tuned
    assert block.combinations[0].trials[0].time_ms is None
    text = f"Total Weights Memory: {'9' * 40}\nTactic: 0x1 Time: 1e300\nOriginal: {'9' * 30} layers"
    story = story_of(build_logs.prefixed(text))
    assert (story.memory_totals, story.steps) == ({}, ())
    assert story.tuned[0].combinations[0].trials[0].time_ms is None


def test_the_recorded_log(data) -> None:
    folder = data / "trt86-h200-process"
    raw = gzip.decompress((folder / "small_convnet.onnx.engine.build.log.gz").read_bytes())
    story, notices = build_story_of(raw, "build.log")
    assert notices == ()
    ends = [(one.name, one.layers) for one in (story.steps[0], story.steps[-1])]
    assert ends == [("Original", 43), ("reformat layers", 21)]
    plan = json.loads((folder / "small_convnet.onnx.engine.graph.json").read_text(), strict=False)
    assert [one.name for one in story.layers] == [one["Name"] for one in plan["Layers"]]
    assert [one.tactic for one in story.layers] == [one["TacticValue"] for one in plan["Layers"]]
    text = raw.decode()
    trials = [one for block in story.tuned for combo in block.combinations for one in combo.trials]
    lines = [one for one in text.splitlines() if " Time: " in one and "Fastest" not in one]
    assert len(trials) == len(lines) - len([one for one in lines if "Parse time" in one])
    chosen = [combo for block in story.tuned for combo in block.combinations if combo.chosen_tactic]
    assert len(chosen) == text.count("Chose Runner Type")
    for combo in chosen:
        best = min(combo.trials, key=lambda one: one.time_ms or 1e9)
        assert (best.tactic, best.runner) == (combo.chosen_tactic, combo.chosen_runner)


@pytest.mark.parametrize("model", ["resnet18", "depth_anything_small"])
def test_large_logs(shared, model) -> None:
    raw = (shared / "trt86-h200" / f"{model}.engine.build.log").read_bytes()
    story, notices = build_story_of(raw, model)
    assert notices == ()
    plan = json.loads((shared / "trt86-h200" / f"{model}.graph.json").read_text(), strict=False)
    assert [one.name for one in story.layers] == [one["Name"] for one in plan["Layers"]]
    text = raw.decode()
    assert sum(one.kind == "layer" for one in story.tuned) == text.count("Computing costs for")
    blocks = text.count("Computing reformatting costs: ")
    assert sum(one.kind == "reformat" for one in story.tuned) == blocks
    assert sum(one.action == "fuse" for one in story.changes) == text.count("Fusing ")
    log, _ = parse_trtexec_log(raw, model)
    assert story.memory_totals == log.report.memory
    assert story.stage_s("whole build") == log.report.build_s
    warned = [(one.level, one.text, one.line) for one in log.report.messages]
    assert [(one.level, one.text, one.line) for one in story.messages] == warned


FUZZ = settings(max_examples=60, deadline=None)
WHOLE = [
    build_logs.log_86(),
    build_logs.log_10(),
    build_logs.prefixed(build_logs.TUNING_84 + build_logs.TUNING_7, "[TensorRT] VERBOSE: "),
]
LINES = [line for one in WHOLE for line in one.splitlines(keepends=True)]


def survives(data: bytes) -> None:
    try:
        story, _ = build_story_of(data, "fuzz")
    except FormatError as error:
        if not str(error).startswith("fuzz"):
            raise
    else:  # what came of it can be stored and read again
        assert msgspec.json.decode(msgspec.json.encode(story), type=BuildTrace) == story


@given(st.binary(max_size=300))
@FUZZ
def test_any_bytes(data) -> None:
    survives(data)


@given(st.sampled_from(WHOLE), st.floats(0, 1), st.floats(0, 1))
@FUZZ
def test_parts(data, begin, end) -> None:
    survives(data[int(begin * len(data)) : int(end * len(data))])


@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=12),
)
@FUZZ
def test_flipped_bytes(data, places) -> None:
    changed = bytearray(data)
    for where, byte in places:
        changed[min(int(where * len(data)), len(data) - 1)] = byte
    survives(bytes(changed))


@given(st.lists(st.sampled_from(LINES), max_size=40))
@FUZZ
def test_lines_in_any_order(lines) -> None:
    survives(b"".join(lines))
