"""Plans as each TensorRT version writes them: a copy, a convolution, a no-op, and what is new."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import LayerTiming, Plan, Profile

Tensor = dict[str, Any]


def tensor(name: str, dims: list[int], text: str, **more: Any) -> Tensor:
    return {"Name": name, "Location": "Device", "Dimensions": dims, "Format/Datatype": text, **more}


IMAGE = tensor("image", [1, 3, 8, 8], "Row major linear FP32")
PACKED = tensor("packed", [1, 3, 8, 8], "Channel major FP16 format where channel % 8 == 0")
FEATURES = tensor(
    "features", [1, 4, 8, 8], "Thirty-two wide channel vectorized row major Int8 format"
)


def layer(name: str, kind: str, inputs: list[Tensor], outputs: list[Tensor], **more: Any) -> Tensor:
    return {"Name": name, "LayerType": kind, "Inputs": inputs, "Outputs": outputs, **more}


def reformat() -> dict[str, Any]:
    fields = {"ParameterType": "Reformat", "Origin": "REFORMAT"}
    fields["TacticValue"] = "0x0000000000000000"
    return layer("copy for conv", "Reformat", [IMAGE], [PACKED], **fields)


def convolution() -> dict[str, Any]:
    return {
        **layer("conv + relu", "CaskConvolution", [PACKED], [FEATURES]),
        "ParameterType": "Convolution",
        "Kernel": [3, 3],
        "Groups": 1,
        "Weights": {"Type": "Half", "Count": 108},
        "Bias": {"Type": "Float", "Count": 4},
        "TacticName": "sm80_xmma_fprop",
        "TacticValue": "0x112767cf498572ea",
    }


def no_op() -> dict[str, Any]:
    flat = tensor("flat", [1, 256], "Row major Int8 format")
    return layer("squeeze", "NoOp", [FEATURES], [flat], TacticValue="0x0000000000000000")


def tensorrt_8_2() -> dict[str, Any]:
    """No ``Location``, no ``Bindings``."""
    layers = [reformat(), convolution(), no_op()]
    for layer in layers:
        for side in ("Inputs", "Outputs"):
            layer[side] = [{k: v for k, v in t.items() if k != "Location"} for t in layer[side]]
    return {"Layers": layers}


def tensorrt_8_4() -> dict[str, Any]:
    return {"Layers": [reformat(), convolution(), no_op()], "Bindings": ["image", "flat"]}


def tensorrt_8_6() -> bytes:
    """Raw U+001E in ``Metadata``, which is not valid JSON."""
    plan = tensorrt_8_4()
    plan["Layers"][1]["Metadata"] = "[ONNX Layer: conv]SEP[ONNX Layer: relu]"
    return json.dumps(plan).replace("SEP", "\x1e").encode()


def tensorrt_10() -> dict[str, Any]:
    """Myelin's layers: no ``Location``, types alone, weights among the inputs."""

    def half(name: str, *dims: int) -> Tensor:
        return {"Name": name, "Dimensions": list(dims), "Format/Datatype": "Half"}

    weights = [half("__mye12_dconst", 256, 10), half("head_bias_constantHalf", 1, 10)]
    ends = [half("flat", 1, 256), *weights], [half("scores", 1, 10)]
    nodes = "[ONNX Layer: head/MatMul]\x1f[ONNX Layer: head/Add]"
    fields = {"TacticName": "sm80_xmma_gemm", "StreamId": 0, "Metadata": nodes}
    gemm = layer("head_myl0_2", "gemm", *ends, **fields)
    fields = {"TacticName": "", "StreamId": 0, "Metadata": ""}
    call = layer("dummy_shape_call_myl0_1", "shape_call", [], [], **fields)
    plan = {"Layers": [reformat(), convolution(), no_op(), call, gemm]}
    return {**plan, "Bindings": ["image", "scores"]}


def tensorrt_11() -> dict[str, Any]:
    """``I/O Tensors``, format and type apart."""

    def split(name: str, dims: list[int], layout: str, dtype: str, key: str) -> Tensor:
        return {"Name": name, "Dimensions": dims, "Format": layout, key: dtype}

    inputs = [split("image", [-1, 3, 8, 8], "kHWC8", "Half", "Datatype")]
    linear = "Row major linear FP32 format"
    outputs = [split("scores", [-1, 10], linear, "Float", "DataType")]
    kernel = split("kernel", [4, 3, 3, 3], "kLINEAR", "FP8", "Datatype")
    conv = layer("conv", "CaskConvolution", inputs, outputs, Constants=[kernel])
    shapes = {f"{end}Shape": [n, 3, 8, 8] for end, n in (("Min", 1), ("Opt", 4), ("Max", 8))}
    shapes["Format"] = "Row major linear FP16 format (kLINEAR)"
    image = {"Name": "image", "IOMode": "Input", "DataType": "Half", "Dimensions": [-1, 3, 8, 8]}
    image |= {"Location": "Device", "IsShapeInferenceIO": False, "ProfileInfo": [shapes]}
    scores = {"Name": "scores", "IOMode": "OUTPUT", "DataType": "Float", "Dimensions": [-1, 10]}
    verbosity = {"ProfilingVerbosity": "DETAILED"}
    return {"Layers": [conv], "I/O Tensors": [image, scores], **verbosity}


def names_only() -> dict[str, Any]:
    return {"Layers": ["conv + relu", "head"], "Bindings": ["image", "scores"]}


def encoded(plan: Any) -> bytes:
    return json.dumps(plan).encode()


def parsed(plan: Any, name: str = "a.json") -> Plan:
    return parse_plan(encoded(plan), name)[0]


def recorded(folder: Path, name: str) -> Plan:
    return parse_plan((folder / f"{name}.graph.json").read_bytes(), name)[0]


def recorded_times(folder: Path, name: str) -> Profile:
    return parse_profile((folder / f"{name}.profile.json").read_bytes(), name)[0]


def shortened(files: Iterable[Path], folder: Path) -> list[Path]:
    """Copy files of an engine, unpacked; of its requests every 32nd, to be read soon."""
    made = []
    for one in sorted(files):
        content, name = one.read_bytes(), one.name.removesuffix(".gz")
        if one.suffix == ".gz":
            content = gzip.decompress(content)
        if name.endswith(".timing.json"):
            content = encoded(json.loads(content)[::32])
        made.append(folder / name)
        made[-1].write_bytes(content)
    return made


def profile(*times: tuple[str, float | None], **more: Any) -> Profile:
    """Layer times in the order of an engine, in milliseconds."""
    rows = [LayerTiming(index=at, name=name, mean_ms=ms) for at, (name, ms) in enumerate(times)]
    return Profile(source="trtexec", layers=tuple(rows), **more)
