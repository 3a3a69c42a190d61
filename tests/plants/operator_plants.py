"""40 plants, 20 in FP32 and 20 in FP16: damaged weights, and replaced operators of six kinds."""

from tests.plants import faults
from tests.plants.plants import Plant, half, single

_REPLACED = (
    ("U-shaped", "Relu → LeakyRelu", faults.replaced("down1/relu", "LeakyRelu", alpha=0.1)),
    ("MobileNet", "Relu → LeakyRelu",
     faults.replaced("%Relu:20", "LeakyRelu", renamed=True, alpha=0.2)),
    ("digits", "Relu → LeakyRelu", faults.replaced("%Relu:2", "LeakyRelu", alpha=0.2)),
    ("convolutional", "Relu → LeakyRelu",
     faults.replaced("stage1/block0/conv1/relu", "LeakyRelu", renamed=True, alpha=0.2)),
    ("gated", "Sigmoid → HardSigmoid", faults.replaced("%Sigmoid:1", "HardSigmoid")),
    ("gated", "Sigmoid → HardSigmoid", faults.replaced("%Sigmoid:2", "HardSigmoid", renamed=True)),
    ("U-shaped", "MaxPool → AveragePool", faults.replaced("pool1", "AveragePool")),
    ("digits", "MaxPool → AveragePool", faults.replaced("%MaxPool:1", "AveragePool", renamed=True)),
    ("gated", "Tanh → Softsign", faults.replaced("%Tanh:1", "Softsign")),
    ("transformer", "Erf → Tanh", faults.replaced("%Erf:2", "Tanh", renamed=True)),
    ("gated", "Add → Sub", faults.replaced("%Add:1", "Sub")),
    ("convolutional", "Add → Sub", faults.replaced("stage1/block1/add", "Sub", renamed=True)),
    ("transformer", "Add → Max", faults.replaced("Add_347", "Max")),
    ("transformer", "ReduceMean → ReduceMax", faults.replaced("ReduceMean_363", "ReduceMax")),
    ("gated", "ReduceMean → ReduceMax", faults.replaced("mean_node", "ReduceMax", renamed=True)),
)  # fmt: skip

_WEIGHTS = (
    ("convolutional", "damaged weight", faults.damaged_weight("stage1/block1/conv1")),
    ("U-shaped", "wrong scale", faults.scaled_weight("up1", 1.5)),
    ("MobileNet", "damaged weight", faults.damaged_weight("%Conv:12")),
    ("transformer", "transposed weight", faults.transposed_weight("MatMul_144", 0, 1)),
    ("digits", "wrong scale", faults.scaled_weight("%Gemm:0", 1.5)),
)

#: A plant in FP32 and the same in FP16.
OPERATOR_PLANTS: tuple[Plant, ...] = tuple(
    make(*plant) for plant in (*_WEIGHTS, *_REPLACED) for make in (single, half)
)
