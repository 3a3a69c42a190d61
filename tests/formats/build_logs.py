"""Pieces of verbose build logs, after what TensorRT 7 to 10 is known to write."""

from enginescope.formats.build_log.build_log import build_story_of
from enginescope.records.plan.build_trace import BuildTrace

PREFIX = "[03/14/2025-09:26:53] [V] [TRT] "

GRAPH = """\
Original: 5 layers
After dead-layer removal: 5 layers
Running: ConstShuffleFusion on bias
ConstShuffleFusion: Fusing bias with (Unnamed Layer* 3) [Shuffle]
After Myelin optimization: 4 layers
Running: MatMulToConvTransform on fc
Convert layer type of fc from MATRIX_MULTIPLY to CONVOLUTION
Running: CastToCopyTransform on id
Swap the layer type of id from CAST to CAST
Running: ShuffleErasure on flat
Removing flat
After scale fusion: 3 layers
Running: ConvEltwiseSumFusion on conv
ConvEltwiseSumFusion: Fusing conv with add
Running: ConvReluFusion on conv + add
ConvReluFusion: Fusing conv + add with relu
After concat removal: 1 layers
"""

CONV = "conv + add + relu"
#: 8.6: a block's name stands in its runners.
TUNING_86 = f"""\
=============== Computing costs for
*************** Autotuning format combination: Float(64,16,4,1) -> Float(64,16,4,1) ***************
--------------- Timing Runner: {CONV} (CaskConvolution[0x80000009])
{CONV}: 10 available tactics, 0 unparsable, 8 pruned, 2 remaining after tactic pruning.
Tactic Name: sm80_big Tactic: 0x00000000000000aa Time: 0.02
Tactic Name: sm80_small Tactic: 0x00000000000000ab Time: 0.01
{CONV} (CaskConvolution[0x80000009]) profiling completed in 0.5 seconds. \
Fastest Tactic: 0x00000000000000ab Time: 0.01
--------------- Timing Runner: {CONV} (CudnnConvolution[0x80000000])
CudnnConvolution has no valid tactics for this config, skipping
>>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x00000000000000ab
*************** Autotuning format combination: Half(8,1:8,4,1) -> Half(8,1:8,4,1) ***************
--------------- Timing Runner: {CONV} (CaskConvolution[0x80000009])
Tactic Name: sm80_half Tactic: 0x00000000000000ac Time: 0.015
Tactic Name: sm80_never Tactic: 0x00000000000000ad Time: inf
{CONV} (CaskConvolution[0x80000009]) profiling completed in 0.25 seconds. \
Fastest Tactic: 0x00000000000000ac Time: 0.015
>>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x00000000000000ac
=============== Computing costs for
*************** Autotuning format combination: Half(8,1:8,4,1) -> Half(8,1:8,4,1) ***************
=============== Computing reformatting costs
=============== Computing reformatting costs:
*************** Autotuning Reformat: Float(64,16,4,1) -> Half(8,1:8,4,1) ***************
--------------- Timing Runner: Optimizer Reformat(x -> <out>) (Reformat[0x80000006])
Tactic: 0x00000000000003e8 Time: 0.004
Tactic: 0x0000000000000000 Time: 0.003
Optimizer Reformat(x -> <out>) (Reformat[0x80000006]) profiling completed in 0.125 seconds. \
Fastest Tactic: 0x0000000000000000 Time: 0.003
Adding reformat layer: Reformatted Input Tensor 0 to {CONV} (x) from Float(64,16,4,1) \
to Half(8,1:8,4,1)
Formats and tactics selection completed in 1.5 seconds.
After reformat layers: 2 layers
"""

MEMORY = """\
[MemUsageChange] Init CUDA: CPU +2, GPU -1, now: CPU 25, GPU 526 (MiB)
[MemUsageSnapshot] Builder begin: CPU 490 MiB, GPU 335 MiB
Layer: conv + add + relu Host Persistent: 32 Device Persistent: 8 Scratch Memory: 64
Total Host Persistent Memory: 134464
[MemUsageStats] Peak memory usage of TRT CPU/GPU memory allocators: CPU 25 MiB, GPU 26 MiB
"""

LAYERS_86 = f"""\
Engine generation completed in 2 seconds.
Engine Layer Information:
Layer(Constant): bias, Tactic: 0x0000000000000000,  -> bias_out (Half[8])
Layer(Reformat): Reformatting CopyNode for Input Tensor 0 to {CONV}, Tactic: 0x00000000000003e8, \
x (Float[1,4,4,4]) -> Reformatted Input Tensor 0 to {CONV} (Half[1,4:8,4,4])
Layer(CaskConvolution): {CONV}, Tactic: 0x00000000000000ac, Reformatted Input Tensor 0 to {CONV} \
(Half[1,4:8,4,4]) -> y (Half[1,4:8,4,4])
Loaded 7 timing cache entries
Serialized 9 timing cache entries
Deleting timing cache: 9 entries, served 3 hits since creation.
Deleting timing cache: 9 entries, served 4 hits since creation.
Engine built in 3 sec.
"""

#: 10: a block is named by its head; layers in the long form.
TUNING_10 = """\
=============== Computing costs for conv1
*************** Autotuning format combination: Half(64,16,4,1) -> Half(64,16,4,1) ***************
Skipping CaskConvolution: No valid tactics for conv1
*************** Autotuning format combination: Half(8,1:8,4,1) -> Half(8,1:8,4,1) ***************
--------------- Timing Runner: conv1 (CaskConvolution[0x80000009])
Tactic Name: sm80_half Tactic: 0x00000000000000ac Time: 0.015
conv1 (CaskConvolution[0x80000009]) profiling completed in 0.25 seconds. \
Fastest Tactic: 0x00000000000000ac Time: 0.015
>>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x00000000000000ac
=============== Computing costs for conv2
*************** Autotuning format combination: Half(8,1:8,4,1) -> Half(8,1:8,4,1) ***************
Formats and tactics selection completed in 1.5 seconds.
Layers:
"""
LONG_LAYERS = """\
Name: conv1, LayerType: CaskConvolution, Inputs: [ { Name: x, Location: Device, Dimensions: \
[1,4,4,4], Format/Datatype: Half }], Outputs: [ { Name: y, Location: Device, Dimensions: \
[1,4,-1,4], Format/Datatype: Half }], ParameterType: Convolution, TacticName: sm80_half, \
TacticValue: 0x00000000000000ac, StreamId: 0, Metadata: [ONNX Layer: conv1]
Name: gemm_myl0_1, LayerType: gemm, Inputs: [ { Name: y, Dimensions: [1,4], Format/Datatype: \
Channel major FP16 format where channel % 8 == 0 }, { Name: __mye5_dconst, Dimensions: [4,9], \
Format/Datatype: Half }], Outputs: [], TacticName: sm50_gemvx, StreamId: 0, Metadata: \
"""

#: 8.2 to 8.5: the kernel's name before its time, runners without a number.
TUNING_84 = """\
=============== Computing costs for
*************** Autotuning format combination: Float(4,1) -> Float(4,1) ***************
--------------- Timing Runner: fc (CaskGemmConvolution)
fc Set Tactic Name: sm75_gemm Tactic: 0x000000000000000a
Tactic: 0x000000000000000a Time: 0.5
Tactic: 0x000000000000000b is the only option, timing skipped
Fastest Tactic: 0x000000000000000a Time: 0.5
>>>>>>>>>>>>>>> Chose Runner Type: CaskGemmConvolution Tactic: 0x000000000000000a
"""

#: 7: blocks without heads, conversions among them, numbers in decimal.
TUNING_7 = """\
Fusing convolution weights from MatMul_1 with scale Bn_2
*************** Autotuning Reformat:Float(8,1) -> Half(8,1) ***************
--------------- Timing Runner: Optimizer Reformat (Reformat)
Tactic: 1002 Time: 0.008
Fastest Tactic: 1002 Time: 0.008
*************** Autotuning format combination: Float(8,1) -> Float(8,1) ***************
--------------- Timing Runner: a (Shuffle)
Tactic: 0 time 0.005
*************** Autotuning format combination: Half(8,1) -> Half(8,1) ***************
--------------- Timing Runner: a (Shuffle)
Tactic: 0 Time: 0.004
*************** Autotuning format combination: Float(8,1) -> Float(8,1) ***************
--------------- Timing Runner: b (Shuffle)
Tactic: -5 Time: 0.006
Layer(Shuffle): b, Tactic: -5, a[Float(-2,3,300,300)] -> b[Half(-2,3)]
"""


def prefixed(text: str, prefix: str = PREFIX) -> bytes:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines()).encode()


def log_86() -> bytes:
    return prefixed(GRAPH + TUNING_86 + MEMORY + LAYERS_86)


def log_10() -> bytes:
    """The list of layers is one message of many lines: only its head has the prefix."""
    return prefixed(GRAPH + TUNING_10) + LONG_LAYERS.encode()


def story_of(data: bytes) -> BuildTrace:
    return build_story_of(data, "x.log")[0]
