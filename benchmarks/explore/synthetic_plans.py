"""Plans of any size, as trtexec writes them, with their profiles.

``chain``: a residual network of 103 layers (72 that work, 31 no-ops, 16 residual edges) end to end,
or any plan given as an example; ``transformer``: blocks with residuals, with the tensor of a mask
that every block reads, and every eighth block with an If whose two branches write one tensor.

python benchmarks/explore/synthetic_plans.py KIND LAYERS FOLDER [--example PLAN.graph.json]
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Raw = dict[str, Any]
FP32 = "Row major linear FP32"
FP16 = "Channel major FP16 format where channel % 8 == 0"


def tensor(name: str, dims: list[int], text: str = FP32) -> Raw:
    return {"Name": name, "Location": "Device", "Dimensions": dims, "Format/Datatype": text}


def layer(kind: str, name: str, reads: list[Raw], writes: list[Raw], **more: Any) -> Raw:
    return {
        "Name": name,
        "LayerType": kind,
        "Inputs": reads,
        "Outputs": writes,
        **more,
        "TacticValue": "0x0000000000000000",
    }


def convolution(name: str, reads: list[Raw], write: Raw, kernel: int, groups: int = 1) -> Raw:
    outs, ins = write["Dimensions"][1], reads[0]["Dimensions"][1]
    return layer(
        "CaskConvolution",
        name,
        reads,
        [write],
        ParameterType="Convolution",
        Kernel=[kernel, kernel],
        PaddingMode="kEXPLICIT_ROUND_DOWN",
        PrePadding=[kernel // 2] * 2,
        PostPadding=[kernel // 2] * 2,
        Stride=[1, 1],
        Dilation=[1, 1],
        OutMaps=outs,
        Groups=groups,
        Weights={"Type": "Float", "Count": outs * ins * kernel**2 // groups},
        Bias={"Type": "Float", "Count": outs},
        TacticName="ampere_scudnn_128x64_relu_interior_nn_v1",
    )


def residual_network() -> list[Raw]:
    """53 convolutions and the head, 16 additions, 2 poolings, 31 no-ops: 103 layers, in order."""
    image, stem = tensor("image", [32, 3, 224, 224]), tensor("stem", [32, 64, 112, 112])
    flow = tensor("pooled", [32, 64, 56, 56])
    layers = [
        convolution("stem/Conv + stem/Relu", [image], stem, 7),
        layer("CaskPooling", "stem/MaxPool", [stem], [flow], ParameterType="Pooling"),
    ]
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            flow = _bottleneck(layers, f"layer{stage + 1}.{block}", flow, stage, first=block == 0)
    vector = tensor("vector", [32, 2048, 1, 1])
    head = tensor("scores", [32, 1000, 1, 1])
    layers.append(layer("CaskPooling", "avgpool", [flow], [vector], ParameterType="Pooling"))
    layers.append(convolution("fc/Gemm", [vector], head, 1))
    return layers


def _bottleneck(layers: list[Raw], name: str, flow: Raw, stage: int, *, first: bool) -> Raw:
    width, size = 64 << stage, 56 >> stage
    narrow, wide = [32, width, size, size], [32, width * 4, size, size]
    a, b, c = (
        tensor(f"{name}/{one}", dims)
        for one, dims in zip("abc", (narrow, narrow, wide), strict=True)
    )
    layers.append(convolution(f"{name}/conv1 + {name}/Relu", [flow], a, 1))
    layers.append(convolution(f"{name}/conv2 + {name}/Relu_1", [a], b, 3))
    layers.append(convolution(f"{name}/conv3", [b], c, 1))
    short = flow
    if first:
        short = tensor(f"{name}/down", wide)
        layers.append(convolution(f"{name}/downsample", [flow], short, 1))
    else:
        short = tensor(f"{name}/short", wide)
        layers.append(layer("NoOp", f"{name}/copy", [flow], [short]))
    total, out = tensor(f"{name}/sum", wide), tensor(f"{name}/out", wide)
    layers.append(
        layer("PointWiseV2", f"PWN({name}/Add, {name}/Relu_2)", [c, short], [total])
        | {"ParameterType": "PointWise", "ParameterSubType": "PointWiseExpression"}
    )
    layers.append(layer("NoOp", f"{name}/reshape", [total], [out]))
    if first and stage:
        seen = tensor(f"{name}/seen", wide)
        layers.append(layer("NoOp", f"{name}/identity", [out], [seen]))
        return seen
    return out


def chain(layers: int, example: list[Raw] | None = None) -> Raw:
    """At least `layers` raw layers: copies of an example, each fed by the one before."""
    example = example or residual_network()
    first, last = _ends(example)
    copies = max(1, math.ceil(layers / len(example)))
    made = [
        _renamed(one, copy, first, last)
        for copy in range(copies)
        for one in json.loads(json.dumps(example))
    ]
    return {"Layers": made, "Bindings": [f"0/{first}", f"{copies - 1}/{last}"]}


def _ends(layers: list[Raw]) -> tuple[str, str]:
    """The example's first tensor read and never written, and its last written and never read."""
    reads = [one["Name"] for raw in layers for one in raw["Inputs"]]
    writes = [one["Name"] for raw in layers for one in raw["Outputs"]]
    return next(n for n in reads if n not in set(writes)), next(
        name for name in reversed(writes) if name not in set(reads)
    )


def _renamed(raw: Raw, copy: int, first: str, last: str) -> Raw:
    raw["Name"] = f"{copy}/{raw['Name']}"
    for one in (*raw["Inputs"], *raw["Outputs"]):
        joint = copy and one["Name"] == first
        one["Name"] = f"{copy - 1}/{last}" if joint else f"{copy}/{one['Name']}"
    return raw


def transformer(layers: int) -> Raw:
    """Blocks of 13 layers (17 with an If) around one stream, until there are `layers` of them."""
    hidden, mask = [1, 128, 768], tensor("mask", [1, 1, 128, 128], "Half")
    flow, made = tensor("embedded", hidden, "Half"), list[Raw]()
    made.append(layer("kgen", "embedding_myl0_0", [tensor("tokens", [1, 128], "Int64")], [flow]))
    block = 0
    while len(made) < layers:
        flow = _block(made, f"/layers.{block}", flow, mask)
        if block % 8 == 7:
            flow = _branches(made, f"/layers.{block}/if", flow)
        block += 1
    scores = tensor("logits", [1, 128, 32000], "Half")
    made.append(layer("gemm", "/head/MatMul", [flow], [scores]))
    return {"Layers": made, "Bindings": ["tokens", "mask", "logits"]}


def _block(made: list[Raw], name: str, flow: Raw, mask: Raw) -> Raw:
    def half(suffix: str, dims: list[int]) -> Raw:
        return tensor(f"{name}/{suffix}", dims, "Half")

    def put(kind: str, suffix: str, reads: list[Raw], dims: list[int]) -> Raw:
        write = half(f"{suffix}_output_0", dims)
        note = f"[ONNX Layer: {name}/{suffix}]\x1f[ONNX Layer: {name}/{suffix}_bias]"
        made.append(layer(kind, f"{name}/{suffix}", reads, [write], Metadata=note, StreamId=0))
        return write

    def gemm(suffix: str, read: Raw, ins: int, outs: int) -> Raw:
        kernel = half(f"{suffix}_dconst", [ins, outs])
        return put("gemm", suffix, [read, kernel], [1, 128, outs])

    normal = put("kgen", "norm1", [flow], [1, 128, 768])
    q, k, v = (gemm(one, normal, 768, 768) for one in ("q", "k", "v"))
    scores = put("gemm", "scores", [q, k], [1, 12, 128, 128])
    weights = put("kgen", "softmax", [scores, mask], [1, 12, 128, 128])
    mixed = put("gemm", "attend", [weights, v], [1, 128, 768])
    copied = put("Reformat", "reformat", [mixed], [1, 128, 768])
    projected = gemm("project", copied, 768, 768)
    summed = put("kgen", "add1_norm2", [projected, flow], [1, 128, 768])
    up = gemm("up", summed, 768, 3072)
    down = gemm("down", put("kgen", "gelu", [up], [1, 128, 3072]), 3072, 768)
    return put("kgen", "add2", [down, summed], [1, 128, 768])


def _branches(made: list[Raw], name: str, flow: Raw) -> Raw:
    """Both branches of an If write one tensor, which what follows reads."""
    result = tensor(f"{name}/result", [1, 128, 768], "Half")
    for branch in ("then", "else"):
        inner = tensor(f"{name}/{branch}_inner", [1, 128, 768], "Half")
        made.append(layer("kgen", f"{name}/{branch}_1", [flow], [inner]))
    for branch in ("then", "else"):
        inner = tensor(f"{name}/{branch}_inner", [1, 128, 768], "Half")
        made.append(layer("kgen", f"{name}/{branch}_2", [inner], [result]))
    return result


def profile_of(plan: Raw, seed: int = 0) -> list[Raw]:
    """A profile of every layer in order; no-ops take no time."""
    drawn = random.Random(seed)
    means = [
        0.0 if one["LayerType"] == "NoOp" else round(drawn.lognormvariate(-4, 0.8), 6)
        for one in plan["Layers"]
    ]
    whole = sum(means) or 1.0
    return [{"count": 1000}, *_rows(plan["Layers"], means, whole)]


def _rows(layers: list[Raw], means: list[float], whole: float) -> Iterator[Raw]:
    for one, mean in zip(layers, means, strict=True):
        yield {
            "name": one["Name"],
            "timeMs": round(mean * 1000, 3),
            "averageMs": mean,
            "medianMs": mean,
            "percentage": round(100 * mean / whole, 5),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a plan and its profile.")
    parser.add_argument("kind", choices=("chain", "transformer"))
    parser.add_argument("layers", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--example", type=Path)
    given = parser.parse_args()
    example = json.loads(given.example.read_bytes())["Layers"] if given.example else None
    plan = chain(given.layers, example) if given.kind == "chain" else transformer(given.layers)
    given.folder.mkdir(parents=True, exist_ok=True)
    stem = f"{given.kind}-{len(plan['Layers'])}"
    for suffix, content in (("graph", plan), ("profile", profile_of(plan))):
        path = given.folder / f"{stem}.{suffix}.json"
        path.write_text(json.dumps(content))
        print(path)


if __name__ == "__main__":
    main()
