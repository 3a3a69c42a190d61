"""What `enginescope validate` costs on a large set of pictures: memory, disk and time.

The set: pictures of 256×320, every second one a JPEG, the others PNG, and a convolutional net of
224×224 with two outputs, scores and a map. One side is the model without graph optimization, the
reference the model on the CPU provider. Memory is the resident memory of the whole process tree,
pages that processes share counted in each. Ends with 1 if the limit is passed.

Then the comparing step alone, on tensors that are there already: processor time per element.

python benchmarks/validate.py [--pictures N] [--only set|step]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import psutil
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

LIMIT_MIB = 1024
SIDE = "ort-cpu?graph_optimization_level=disable&intra_op_num_threads=1"


def write_pictures(folder: Path, count: int) -> float:
    """Write the pictures, smooth with some noise, as photographs are; return their MiB."""
    generator = np.random.default_rng(0)
    for at in range(count):
        coarse = Image.fromarray(generator.integers(0, 256, (8, 10, 3), dtype=np.uint8))
        pixels = np.asarray(coarse.resize((320, 256), Image.Resampling.BICUBIC)).astype(np.int16)
        pixels += generator.integers(-4, 5, pixels.shape[:2])[:, :, None].astype(np.int16)
        picture = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
        if at % 2:
            picture.save(folder / f"{at:05}.jpg", quality=90)
        else:
            picture.save(folder / f"{at:05}.png", compress_level=1)
    return sum(one.stat().st_size for one in folder.iterdir()) / 2**20


def write_net(path: Path) -> None:
    """Write a small net: five convolutions, a map of 56×56, and 1,000 scores."""
    generator = np.random.default_rng(1)
    weights, nodes, source, channels = [], [], "image", 3
    for at, (out, stride) in enumerate([(16, 2), (32, 2), (32, 1), (64, 2), (64, 2)]):
        values = generator.standard_normal((out, channels, 3, 3)) * (2 / (9 * channels)) ** 0.5
        weights.append(numpy_helper.from_array(values.astype(np.float32), f"w{at}"))
        nodes.append(
            helper.make_node(
                "Conv", [source, f"w{at}"], [f"c{at}"], pads=[1] * 4, strides=[stride] * 2
            )
        )
        nodes.append(helper.make_node("Relu", [f"c{at}"], [f"r{at}"]))
        source, channels = f"r{at}", out
    weights += [
        numpy_helper.from_array(generator.standard_normal((1, 32, 1, 1)).astype(np.float32), "wm"),
        numpy_helper.from_array(generator.standard_normal((64, 1000)).astype(np.float32), "wf"),
    ]
    nodes += [
        helper.make_node("Conv", ["r2", "wm"], ["map"]),
        helper.make_node("GlobalAveragePool", [source], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "wf"], ["scores"]),
    ]
    kind = TensorProto.FLOAT
    ends = (
        [helper.make_tensor_value_info("image", kind, [1, 3, 224, 224])],
        [
            helper.make_tensor_value_info("scores", kind, [1, 1000]),
            helper.make_tensor_value_info("map", kind, [1, 1, 56, 56]),
        ],
    )
    graph = helper.make_graph(nodes, "net", *ends, weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opset), path)


@dataclass
class Peaks:
    """The most that a process tree and its temporary folder came to."""

    tree_mib: float = 0.0
    parent_mib: float = 0.0
    disk_mib: float = 0.0
    parent_cpu_s: float = 0.0


def watch(process: subprocess.Popen[bytes], folder: Path, peaks: Peaks) -> None:
    """Follow a process tree until it ends."""
    parent, last = psutil.Process(process.pid), 0.0
    while process.poll() is None:
        try:
            own = parent.memory_info().rss
            peaks.parent_cpu_s = sum(parent.cpu_times()[:2])
            others = [_rss(one) for one in parent.children(recursive=True)]
        except psutil.Error:
            break
        peaks.parent_mib = max(peaks.parent_mib, own / 2**20)
        peaks.tree_mib = max(peaks.tree_mib, (own + sum(others)) / 2**20)
        if time.monotonic() - last > 2:
            peaks.disk_mib = max(peaks.disk_mib, _size(folder) / 2**20)
            last = time.monotonic()
        time.sleep(0.05)


def _rss(one: psutil.Process) -> int:
    try:
        return int(one.memory_info().rss)
    except psutil.Error:
        return 0


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):  # passes over folders that are gone meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(root) / name).stat().st_blocks * 512
    return total


def measure_set(count: int) -> bool:
    """Validate the set in a process of its own and print what it took."""
    with tempfile.TemporaryDirectory(prefix="bench-validate-") as made:
        folder = Path(made)
        pictures, work, out = (folder / name for name in ("pictures", "scratch", "out"))
        pictures.mkdir()
        work.mkdir()
        size = write_pictures(pictures, count)
        write_net(folder / "net.onnx")
        command = [sys.executable, "-m", "enginescope", "validate", str(folder / "net.onnx")]
        command += ["--data", str(pictures), "--on", SIDE, "--json", "--skip-output-save"]
        command += ["--output", str(out), "--store", str(folder / "store")]
        begin = time.perf_counter()
        with (folder / "out.json").open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, env=os.environ | {"TMPDIR": made + "/scratch"}
            )
        peaks = Peaks()
        watcher = threading.Thread(target=watch, args=(process, work, peaks))
        watcher.start()
        status = process.wait()
        watcher.join()
        wall = time.perf_counter() - begin
        if status != 0:
            print(f"validate ended with {status}")
            return False
        found = json.loads((folder / "out.json").read_text())
        left = sum(1 for _ in work.glob("enginescope-*"))
    print(f"{found['num_samples']:,} pictures of 256×320, {size:,.0f} MiB; two sides, two outputs")
    print(f"  process tree   {peaks.tree_mib:8,.0f} MiB at most (limit {LIMIT_MIB:,} MiB)")
    print(f"  of it ours     {peaks.parent_mib:8,.0f} MiB: samples, figures, the page")
    print(
        f"  disk           {peaks.disk_mib:8,.0f} MiB in the temporary folder, {left} entries left"
    )
    print(f"  time           {wall:8,.1f} s, of it {peaks.parent_cpu_s:,.1f} s of a core comparing")
    return peaks.tree_mib <= LIMIT_MIB


STEPS = {
    "scores 1×1,000": (1, 1000),
    "maps 1×1×56×56": (1, 1, 56, 56),
    "features 1×64×112×112": (1, 64, 112, 112),
    "depth 1×1×518×518": (1, 1, 518, 518),
}


def measure_step() -> None:
    """Print what comparing one output of a sample takes."""
    print(f"{'comparing':24} {'elements':>10} {'ms / sample':>12} {'ns / element':>13}")
    for name, shape in STEPS.items():
        rounds = max(8, min(400, 4_000_000 // int(np.prod(shape))))
        best = min(_once(shape, rounds) for _ in range(3))
        size = int(np.prod(shape))
        print(f"{name:24} {size:10,} {1e3 * best:12.3f} {1e9 * best / size:13.1f}")


def _once(shape: tuple[int, ...], rounds: int) -> float:
    """Return the processor time of one sample, in s."""
    generator = np.random.default_rng(2)
    reference = [generator.standard_normal(shape).astype(np.float32) for _ in range(4)]
    candidate = [one * np.float32(1 + 1e-6) for one in reference]
    pairs = [(_values(a), _values(b)) for a, b in zip(reference, candidate, strict=True)]
    comparison = SideComparison("side", lambda _: tolerance_named("fp16"))
    begin = time.process_time()
    for at in range(rounds):
        a, b = pairs[at % len(pairs)]
        comparison.add(at, "sample", [a], [b])
    return (time.process_time() - begin) / rounds


def _values(array: np.ndarray) -> TensorValues:
    return TensorValues(name="y", dtype=DataType.FP32, shape=array.shape, data=array)


def main() -> int:
    parser = argparse.ArgumentParser(description="What validate costs.")
    parser.add_argument("--pictures", type=int, default=5_000)
    parser.add_argument("--only", choices=["set", "step"])
    given = parser.parse_args()
    if given.only != "set":
        measure_step()
    return 0 if given.only == "step" or measure_set(given.pictures) else 1


if __name__ == "__main__":
    sys.exit(main())
