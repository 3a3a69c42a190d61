"""How often ``enginescope upgrade --search`` finds a planted regression among equal releases.

A search has eight releases, which are this Python under eight names. From one of them on, a fault
is planted: each request takes 5 % longer, every Relu computes something else, or the session
refuses the model. Without a fault (``--part null``), a release that is named is wrong.

``--part reports`` searches the real releases of ONNX Runtime for models of public reports, each
built from the report's text. It needs an index, and no MODEL.

python benchmarks/release_search.py [MODEL] [--count 10] [--part planted] [--log search.jsonl]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from upgrade import PYTHON, planted, slower

RELEASES = tuple(f"1.{minor}.0" for minor in range(1, 9))
WRONG = """
import onnx, onnxruntime
usual = onnxruntime.InferenceSession
class Wrong(usual):
    def __init__(self, model, *given, **named):
        loaded = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(str(model))
        for node in loaded.graph.node:
            if node.op_type == "Relu":
                node.op_type = "LeakyRelu"
                node.attribute.append(onnx.helper.make_attribute("alpha", 0.5))
        super().__init__(loaded.SerializeToString(), *given, **named)
onnxruntime.InferenceSession = Wrong
"""
REFUSES = """
import onnxruntime
def refused(*given, **named):
    raise RuntimeError("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : planted")
onnxruntime.InferenceSession = refused
"""
FAULTS = {"slower": slower(1.05), "wrong": WRONG, "refuses": REFUSES}
KINDS = (*("wrong", "refuses", "slower") * 3, "wrong")


def search(model: Path, fault: str | None, first: int, folder: Path, more: list[str]) -> dict:
    """Return what a search says whose releases from number `first` on have a fault."""
    # all releases of ``slower`` use the loop in Python, in which a request can be made longer
    good = planted(sys.executable, PYTHON if fault == "slower" else "", folder / "good")
    bad = planted(sys.executable, FAULTS[fault], folder / "bad") if fault else good
    command = [sys.executable, "-m", "enginescope", "upgrade", str(model)]
    command += ["--search", f"{RELEASES[0]}..{RELEASES[-1]}", "--json", *more]
    for number, release in enumerate(RELEASES):
        command += ["--python", f"{release}={bad if fault and number >= first else good}"]
    command += ["--store", str(folder / "store"), "--evidence", str(folder / "evidence")]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not ended.stdout:
        raise SystemExit(ended.returncode)
    found = json.loads(ended.stdout)
    script = folder / "evidence" / "reduced" / "check.py"
    if script.is_file():  # exit code 1 while the failure is there
        commands = ([each, str(script)] for each in (good, bad))
        found["reduced"] = [subprocess.run(each, check=False).returncode for each in commands]
    return found


def _model(nodes: list, x: tuple, y: tuple, weights: dict, domains: tuple = ()) -> onnx.ModelProto:
    """Return a model from ``x`` to ``y``, whose shapes are given."""
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", x), ("y", y))
    ]
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "report", values[:1], values[1:], constants)
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(*one) for one in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def folded_branch() -> onnx.ModelProto:
    """Issue 29071: a branch that is taken always folds a constant of over 127 bytes."""
    y = [helper.make_tensor_value_info("o", TensorProto.FLOAT, (16, 16))]
    value = numpy_helper.from_array(_draw(16, 16), "value")
    then = [
        helper.make_node("Constant", [], ["k"], value=value),
        helper.make_node("Exp", ["k"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["o"]),
    ]
    other = [helper.make_node("Identity", ["x"], ["o"])]
    branches = {
        "then_branch": helper.make_graph(then, "then", [], y),
        "else_branch": helper.make_graph(other, "else", [], y),
    }
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Size", ["shape"], ["rank"]),
        helper.make_node("Equal", ["rank", "two"], ["condition"]),
        helper.make_node("If", ["condition"], ["y"], **branches),
    ]
    return _model(nodes, (16, 16), (16, 16), {"two": np.array(2)})


def batched_convolution() -> onnx.ModelProto:
    """Issue 28466: a batched convolution in 3D has scratch memory for each thread."""
    shape = (2, 24, 32, 64, 64)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["m"], pads=[1] * 6, name="conv"),
        helper.make_node("Relu", ["m"], ["y"]),
    ]
    return _model(nodes, shape, shape, {"w": _draw(24, 24, 3, 3, 3)})


def trees(count: int = 5, depth: int = 5) -> onnx.ModelProto:
    """Issue 27187: TreeEnsembleRegressor over 1,000 rows of one feature, with complete trees."""
    size, leaf = 2 ** (depth + 1) - 1, 2**depth - 1
    every = [(tree, node) for tree in range(count) for node in range(size)]
    leaves = [(tree, node) for tree, node in every if node >= leaf]
    inner = [node < leaf for _, node in every]
    thresholds = _draw(len(every))
    fields = {
        "nodes_treeids": [tree for tree, _ in every],
        "nodes_nodeids": [node for _, node in every],
        "nodes_featureids": [0] * len(every),
        "nodes_modes": ["BRANCH_LEQ" if is_inner else "LEAF" for is_inner in inner],
        "nodes_values": [
            float(value) if is_inner else 0.0
            for value, is_inner in zip(thresholds, inner, strict=True)
        ],
        "nodes_truenodeids": [2 * node + 1 if node < leaf else 0 for _, node in every],
        "nodes_falsenodeids": [2 * node + 2 if node < leaf else 0 for _, node in every],
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [node for _, node in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights": [float(value) for value in _draw(len(leaves))],
    }
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        **fields,
    )
    return _model([node], (1000, 1), (1000, 1), {}, (("ai.onnx.ml", 3),))


def identity_transpose() -> onnx.ModelProto:
    """Issues 32228 and 32418: a Transpose that changes nothing, in front of a square Gemm."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 1]),
        helper.make_node("Gemm", ["t", "w", "b"], ["y"]),
    ]
    return _model(nodes, (8, 8), (8, 8), {"w": _draw(8, 8), "b": _draw(8)})


#: Model -> what the report says, the range to search, and options of the search.
REPORTS = {
    folded_branch: ("#29071: 1.23 loads it, 1.26 refuses", "1.19..1.27", ()),
    batched_convolution: (
        "#28466: 1.23.2 takes more memory than 1.23.0",
        "1.22..1.24",
        ("--duration", "300ms", "--rounds", "30", "--max-regression", "latency=100%"),
    ),
    trees: (
        "#27187: 1.23.0 is slower than 1.22.0",
        "1.21..1.24",
        ("--duration", "200ms", "--rounds", "60", "--max-regression", "peak_memory=50%"),
    ),
    identity_transpose: ("#32418: 1.29.0 transposes it; mended since", "1.26..1.32", ()),
}


def search_reports(log: Path, folder: Path) -> None:
    """Search the release of each report, one store for all."""
    for build, (report, span, more) in REPORTS.items():
        model = folder / f"{build.__name__}.onnx"
        onnx.save(build(), model)
        command = [sys.executable, "-m", "enginescope", "upgrade", str(model), "--search", span]
        command += ["--samples", "1", "--json", "--store", str(folder / "store"), *more]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        line = {"report": report, "code": ended.returncode}
        if ended.stdout:
            found = json.loads(ended.stdout)
            line |= {"named": found["release"], "answer": found["answer"]}
        with log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first search")
    parser.add_argument("--part", choices=("planted", "null", "reports"), default="planted")
    parser.add_argument("--log", type=Path, default=Path("search.jsonl"))
    parser.add_argument("--duration", default="300ms", help="of each process")
    parser.add_argument("--rounds", default="240")
    options = parser.parse_args()
    if options.part == "reports":
        with tempfile.TemporaryDirectory() as folder:
            search_reports(options.log, Path(folder))
        return 0
    if options.model is None:
        parser.error("a MODEL is needed")
    right, more = 0, ["--duration", options.duration, "--rounds", options.rounds, "--samples", "2"]
    for number in range(options.first, options.first + options.count):
        first = random.Random(number).randrange(1, len(RELEASES))
        fault = KINDS[number % len(KINDS)] if options.part == "planted" else None
        with tempfile.TemporaryDirectory() as folder:
            found = search(options.model, fault, first, Path(folder), more)
        named = found["release"]
        right += named == (RELEASES[first] if fault else None)
        line = {"fault": fault, "planted": RELEASES[first] if fault else None, "named": named}
        line |= {"answer": found["answer"], "reduced": found.get("reduced")}
        steps = found["report"]["steps"]
        line["steps"] = [(step["old"]["name"], step["new"]["name"]) for step in steps]
        line["origin"] = steps[-1]["models"][0]["origin"]
        with options.log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
    print(f"{options.part}: {right} of {options.count} right")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
