from enginescope.analysis.plans.layer_attributes import attributes_of
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Layer, Weights
from enginescope.records.tensor import DataType
from tests.conftest import DATA


def test_a_convolution_has_all_of_its_attributes() -> None:
    file = DATA / "trt86-h200" / "resnet18.graph.json"
    plan, _ = parse_plan(file.read_bytes(), file.name)
    layer = next(one for one in plan.layers if one.name == "/conv1/Conv + /relu/Relu")
    assert attributes_of(layer) == {
        "output_precision": "FP16",
        "weights_type": "FP16",
        "kernel": "7×7",
        "stride": "2×2",
        "padding": "3×3",
        "dilation": "1×1",
        "groups": 1,
        "out_channels": 64,
        "activation": "RELU",
        "stream": 0,
        "tactic_value": layer.tactic_value,
    }


def test_a_fused_convolution_a_pooling_and_weights_say_their_own() -> None:
    fused = {"ConvKernel": [3, 3], "ConvActivation": "NONE", "PoolingStride": [2, 2]}
    found = attributes_of(Layer(index=0, name="fused", type="ConvActPool", attributes=fused))
    assert found == {"kernel": "3×3", "stride": "2×2"}
    pooling = {"WindowSize": [7, 7], "PrePadding": [0, 0], "PostPadding": [1, 1]}
    found = attributes_of(Layer(index=0, name="pool", type="Pooling", attributes=pooling))
    assert found == {"kernel": "7×7", "padding": "0×0 before, 1×1 after"}
    weights = (
        Weights(role="Bias", dtype=DataType.FP32, count=8),
        Weights(role="Weights", dtype=DataType.INT8, count=72),
    )
    layer = Layer(index=0, name="conv", weights=weights, attributes={"Origin": "QDQ"})
    assert attributes_of(layer) == {"weights_type": "INT8", "reformat_origin": "QDQ"}
