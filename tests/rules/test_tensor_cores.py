import random

import pytest

from enginescope.records.environment import Device
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import DataType
from enginescope.rules import tensor_cores
from enginescope.rules.checks.products import gemm_alignment
from enginescope.rules.view import Flow, LintInput, LintView
from tests.rules.made import layer, plan


@pytest.mark.parametrize(
    ("tactic", "expected"),
    [
        ("ampere_h16816cudnn_128x128_ldg8_relu_exp_stages_64x3_large_nhwc_tn_v1", True),
        ("ampere_h1688cudnn_256x64_ldg8_relu", True),
        ("turing_fp16_i8816cudnn_int8_128x128_ldg16_relu_small_nt_v1", True),
        ("volta_fp16_s884cudnn_fp16_128x128", True),
        ("trt_turing_cutlass_image_network_first_layer_hmma_fprop_f16f16f32_nhwc", True),
        ("sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize64x32x64_tensor16x8x16", True),
        ("sm90_xmma_fprop_implicit_gemm_f16f16_warpgroupsize1x1x1_g1_beta0", True),
        ("cutlass_80_tensorop_f16_s16816gemm", True),
        ("nvjet_hsh_64x8_64x16", True),
        ("ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", False),
        ("volta_int8x4_icudnn_int8x4_128x32_relu_xregs_medium_c32_nn_v1", False),
        ("sm70_xmma_fprop_conv1x1_i8f32_f32_f32_nchw_vect_c_4_simt_small_batch_bias_relu", False),
        ("sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n", False),
        ("volta_sgemm_128x64_tn", False),
        (None, None),
        ("__myl_MulSumAdd_0x8816884", None),
        ("my_own_kernel", None),
    ],
)
def test_a_tactic_s_name_tells_whether_it_uses_tensor_cores(tactic, expected) -> None:
    assert tensor_cores.uses_tensor_cores(tactic) is expected


def test_matrix_vector_and_alignment() -> None:
    assert tensor_cores.is_matrix_vector("sm50_xmma_cublas_gemvx_f16f16")
    assert not tensor_cores.is_matrix_vector("sm80_xmma_gemm_f16f16")
    assert not tensor_cores.is_matrix_vector(None)
    assert [tensor_cores.alignment_of(one) for one in (DataType.FP16, DataType.INT8)] == [8, 16]
    assert tensor_cores.alignment_of(DataType.BOOL) is None
    assert tensor_cores.alignment_of(None) is None


@pytest.mark.parametrize(
    ("capability", "lacks"), [("6.1", True), ("7.0", False), ("10.0", False), (None, False)]
)
def test_gpus_without(capability: str | None, lacks: bool) -> None:
    assert tensor_cores.lacks_tensor_cores(Device(name="x", compute_capability=capability)) is lacks
    assert not tensor_cores.lacks_tensor_cores(None)


def flow_of(*rows: str) -> Flow:
    """Layers as ``type reads writes``, all of them FP16; ``-`` is no tensor."""

    def tensors(names: str) -> str:
        return ",".join(f"{name} FP16" for name in names.split(",") if name != "-")

    return Flow(plan(*(layer(kind, tensors(a), tensors(b)) for kind, a, b in map(str.split, rows))))


def test_layers_before_and_after_through_no_ops_and_copies() -> None:
    flow = flow_of("Convolution in a", "PointWise a b", "PointWise a,b out")
    assert (flow.before, flow.after) == ({1: (0,), 2: (0, 1)}, {0: (1, 2), 1: (2,)})
    assert (flow.only_after(1), flow.only_after(0)) == (2, None)
    assert (flow.only_before(1), flow.only_before(2)) == (0, None)
    assert (flow.reads_input, flow.writes_output) == ({0}, {2})
    idle = ("NoOp a b", "NoOp b c", "PointWise c d", "NoOp d out", "NoOp - nothing")
    flow = flow_of("NoOp in in2", "PointWise in2 a", *idle)
    assert (flow.before, flow.reads_input, flow.writes_output) == ({4: (1,)}, {1}, {4})
    assert flow.only_after(4) is None
    flow = flow_of("PointWise in a", "PointWise a b", "PointWise b a", "PointWise a out")
    assert (flow.before[3], flow.after[0]) == ((2,), (1,))
    flow = flow_of("PointWise in joined", "PointWise in joined", "PointWise joined out")
    assert flow.before[2] == (0, 1)
    assert flow_of("PointWise state state").before == {}


# Which products are a model's interface, against a search from each layer; and what it costs.

PRODUCTS = ("gemm", "Convolution")


def random_plan(chance: random.Random) -> Plan:
    made: list[Layer] = []
    names = ["in FP16 4x7"]
    for at in range(chance.randint(1, 14)):
        kind = chance.choice(("kgen", "Shuffle", "NoOp", *PRODUCTS))
        reads = ",".join(chance.sample(names, min(len(names), chance.choice((1, 1, 2)))))
        names.append(f"t{at} FP16 {chance.choice(('4x7', '4x9', '7x9'))}")
        made.append(layer(kind, reads, names[-1], name=f"{kind}{at}"))
    return plan(*made, outputs=" ".join({name.split()[0] for name in chance.sample(names[1:], 1)}))


def reached(view: LintView, start: Layer, length: int | None) -> bool:
    """Search from one layer over neighbors that are not products, and keep the length."""
    flow = view.flow
    ends, links = (
        (flow.writes_output, flow.after) if length is None else (flow.reads_input, flow.before)
    )
    seen, waiting = {start.index}, [start.index]
    while waiting:
        at = waiting.pop()
        if at in ends:
            return True
        for index in links.get(at, ()):
            other = view.layers[index]
            lengths = {dim for tensor in other.inputs for dim in tensor.shape or ()}
            if other.type in PRODUCTS or not (length is None or length in lengths):
                continue
            if index not in seen:
                seen.add(index)
                waiting.append(index)
    return False


@pytest.mark.parametrize("seed", range(60))
def test_it_is_what_a_search_from_each_layer_finds(seed: int) -> None:
    view = LintView(LintInput(plan=random_plan(random.Random(seed))))
    for one in view.active:
        assert tensor_cores.is_head(view, one) is reached(view, one, None), one.name
        for length in (4, 7, 9):
            fed = tensor_cores.is_fed(view, one, length)
            assert fed is reached(view, one, length), (one.name, length)


def test_the_walks_grow_with_the_plan_and_not_with_its_square(monkeypatch) -> None:
    visits = 0

    def counting(one: Layer) -> bool:
        nonlocal visits
        visits += 1
        return False

    monkeypatch.setattr(tensor_cores, "is_whole_part", counting)
    layers = []
    for at in range(200):  # each gemm is a head and is fed, over all pointwise layers between
        layers += [
            layer("kgen", f"t{at - 1} FP16 4x7" if at else "in FP16 4x7", f"t{at} FP16 4x7"),
            layer("gemm", f"t{at} FP16 4x7,w{at} FP16 7x9", f"g{at} FP16 4x9"),
            layer("kgen", f"g{at} FP16 4x9", f"o{at} FP16 4x9"),
        ]
    view = LintView(LintInput(plan=plan(*layers, outputs=" ".join(f"o{at}" for at in range(200)))))
    assert list(gemm_alignment.check(view)) == []
    assert visits <= 2 * len(layers)
