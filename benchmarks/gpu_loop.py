"""Throughput and GPU compute time beside trtexec's, or beside a bare loop's, paired.

python benchmarks/gpu_loop.py [MODEL.onnx | ENGINE ...] [--pairs N] [--seconds S] [--on trt:fp16?…]

By default the models are perceptrons from 10 µs to 5 ms. Each is measured with copies, which is
trtexec's default, and without; with a CUDA graph and spinning waits. Where a trtexec binary is on
PATH it is the other side, a process for each measurement. Elsewhere it is ``bare_gpu_loop.c``: the
same calls in the same process on the same engine, in turns with enginescope's loop in C and with
its loop in Python.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.backends.loop import timed_loop, warm_up
from enginescope.backends.registry import load_backend
from enginescope.backends.tensorrt.libraries import load
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.core.record import replace
from enginescope.records.run.job import Job, Mode, StopRule, WarmUp, Workload
from enginescope.records.run.run import OutcomeKind
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.jobs import ENGINE_SUFFIXES, make_jobs
from enginescope.runner.session import build_engines, run_jobs

ROOT = Path(__file__).parents[1]
BARE = Path(__file__).with_name("bare_gpu_loop.c")
WARM_MS = 200
Figures = tuple[float, float]  # queries/s, median GPU compute ms
Side = Callable[[], Figures]
#: Name -> units of a layer, layers, batch.
PERCEPTRONS = {
    "mlp_64x3": (64, 3, 1),
    "mlp_512x8": (512, 8, 1),
    "mlp_1024x8": (1024, 8, 1),
    "mlp_2048x12": (2048, 12, 16),
    "mlp_4096x10_b256": (4096, 10, 256),
    "mlp_4096x40_b512": (4096, 40, 512),
}


def perceptron(path: Path, width: int, layers: int, batch: int) -> Path:
    """Write a perceptron whose layers share their weights."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).normal(0, width**-0.5, (width, width)).astype(np.float32)
    nodes, last = [], "x"
    for index in range(layers):
        nodes.append(helper.make_node("MatMul", [last, "w"], [f"m{index}"]))
        last = "y" if index == layers - 1 else f"r{index}"
        nodes.append(helper.make_node("Relu", [f"m{index}"], [last]))
    ends = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, width]) for name in "xy")
    graph = helper.make_graph(
        nodes, path.stem, *([end] for end in ends), [numpy_helper.from_array(weights, "w")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return path


def workload_of(seconds: float, *, transfers: bool) -> Workload:
    """Return trtexec's way of asking."""
    mode = Mode(kind="throughput", in_flight=2, cuda_graph=True, transfers=transfers)
    warmup = WarmUp(time_ms=WARM_MS, limit_ms=WARM_MS)
    return Workload(warmup=warmup, stop=StopRule(duration_ms=seconds * 1e3), mode=mode)


def ours_apart(engine: Path, workload: Workload) -> Figures:
    """Measure with enginescope, in a process of its own."""
    (job,) = make_jobs([engine], ["trt"], workload, layer_profile=False, data="none")
    (run,) = run_jobs([job], lambda _: None)
    view = RunView(run)
    if run.outcome.kind is not OutcomeKind.OK or view.throughput is None:
        sys.exit(f"{engine}: {run.outcome.message}")
    compute = view.summary("gpu_compute")
    assert compute is not None
    items = run.job.workload.batch or 1 if view.throughput.unit == "items" else 1
    return view.throughput.per_s / items, compute.median_ms


def of_trtexec(binary: str, engine: Path, seconds: float, *, transfers: bool) -> Figures:
    """Measure with a trtexec of up to TensorRT 10."""
    flags = ["--useCudaGraph", "--useSpinWait", f"--duration={seconds:g}", f"--warmUp={WARM_MS}"]
    flags += [] if transfers else ["--noDataTransfers"]
    command = [binary, f"--loadEngine={engine}", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    throughput = re.search(r"Throughput: (\S+) qps", done.stdout)
    compute = re.search(r"GPU Compute Time:.*median = (\S+) ms", done.stdout)
    if throughput is None or compute is None:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        sys.exit(f"trtexec ended with {done.returncode}: {''.join(last)}")
    return float(throughput[1]), float(compute[1])


class _Slot(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64 * 2) for name in ("h2d", "compute", "d2h"))


class _Work(ctypes.Structure):
    _names = ("input_stream", "compute_stream", "output_stream", "graph", "input", "output")
    _fields_ = (
        *((name, ctypes.c_uint64) for name in _names),
        ("from", ctypes.c_void_p),
        ("to", ctypes.c_void_p),
        ("input_bytes", ctypes.c_size_t),
        ("output_bytes", ctypes.c_size_t),
        ("transfers", ctypes.c_int64),
        ("slots", _Slot * 2),
    )


def bare_loop(library: Path, session: TrtSession, seconds: float) -> Figures:
    """Measure the session's engine, which has one input and one output, with the bare loop."""
    run = ctypes.CDLL(str(library)).bare_loop
    run.restype = ctypes.c_double
    run.argtypes = [
        ctypes.POINTER(_Work),
        ctypes.c_double,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int64),
    ]
    lane = session.lanes[0]
    (fed,), (answer,) = lane.sets[0].values(), lane.outputs.values()
    events = [int(session.cuda.event(spin=True)) for _ in range(12)]
    work = _Work(
        int(lane.input_stream),
        int(lane.compute_stream),
        int(lane.output_stream),
        int(lane.launches[0][1][0]),
        fed.device,
        answer.device,
        fed.host.ctypes.data,
        answer.host.ctypes.data,
        fed.nbytes,
        answer.nbytes,
        int(bool(session.mode.transfers)),
    )
    for index in range(2):
        for place, name in enumerate(("h2d", "compute", "d2h")):
            pair = events[6 * index + 2 * place : 6 * index + 2 * place + 2]
            getattr(work.slots[index], name)[:] = pair
    times = np.zeros(2_000_000, np.float32)
    taken = ctypes.c_int64()
    for limit in (WARM_MS / 1e3, seconds):
        per_s = run(ctypes.byref(work), limit, times.ctypes.data, times.size, ctypes.byref(taken))
    if per_s < 0:
        sys.exit("the bare loop failed")
    return per_s, float(np.median(times[: taken.value]))


def in_process(session: TrtSession, workload: Workload, loop: str) -> Figures:
    """Measure with enginescope's recorder of the session, in C or in Python."""
    session.mode = replace(session.mode, loop=loop)
    warming, recorder = session.recorder(), session.recorder()
    warm_up(warming, workload.warmup, lambda _: None)
    timed_loop(recorder, workload.stop, lambda _: None, warming)
    return 1e3 * len(recorder) / recorder.wall_ms, float(np.median(recorder.times_ms()))


@contextmanager
def sides_of(
    engine: Path, bare: Path | None, seconds: float, *, transfers: bool
) -> Iterator[Mapping[str, Side]]:
    """Yield what is measured in turns; the last side is the yardstick."""
    workload = workload_of(seconds, transfers=transfers)
    binary = shutil.which("trtexec")
    if binary or bare is None:
        found = partial(of_trtexec, binary or "trtexec", engine, seconds, transfers=transfers)
        yield {"enginescope": partial(ours_apart, engine, workload), "trtexec": found}
        return
    (job,) = make_jobs([engine], ["trt"], workload, layer_profile=False, data="none")
    with opened(job) as session:
        native = partial(in_process, session, workload)
        yield {
            "native": partial(native, "native"),
            "python": partial(native, "python"),
            "bare": partial(bare_loop, bare, session, seconds),
        }


@contextmanager
def opened(job: Job) -> Iterator[TrtSession]:
    """Yield a session that has answered its first request."""
    session = TrtSession(load(None), job, replace(job.workload.mode, loop="native"))
    try:
        session.bind(make_feeds(session.input_specs, job.workload))
        session.step()
        session.settle()
        yield session
    finally:
        session.close()


def compare(name: str, sides: Mapping[str, Side], pairs: int) -> Iterator[dict[str, Any]]:
    """Yield medians of all sides and of the ratios to the last one, with their ranges."""
    rows: list[dict[str, Figures]] = []
    for number in range(pairs):
        order = list(sides) if number % 2 == 0 else list(reversed(sides))
        rows.append({side: sides[side]() for side in order})
    *others, yardstick = sides
    for side in others:
        rates = [row[side][0] / row[yardstick][0] for row in rows]
        compute = [row[side][1] / row[yardstick][1] for row in rows]
        mine, theirs = ([row[one] for row in rows] for one in (side, yardstick))
        yield {
            "engine": name,
            "side": side,
            "yardstick": yardstick,
            "per_s": statistics.median(one[0] for one in mine),
            "compute_ms": statistics.median(one[1] for one in mine),
            "yardstick_per_s": statistics.median(one[0] for one in theirs),
            "yardstick_compute_ms": statistics.median(one[1] for one in theirs),
            "throughput": [statistics.median(rates), min(rates), max(rates)],
            "compute": [statistics.median(compute), min(compute), max(compute)],
            "pairs": pairs,
        }


def text_of(found: Mapping[str, Any]) -> str:
    """Return a line for people."""
    rate, compute = found["throughput"], found["compute"]
    return (
        f"{found['engine']:18} {'transfers' if found['transfers'] else 'none':9}  "
        f"{found['side']:11} {found['per_s']:10,.1f}/s {found['compute_ms']:.6f} ms   "
        f"{found['yardstick']} {found['yardstick_per_s']:10,.1f}/s "
        f"{found['yardstick_compute_ms']:.6f} ms   "
        f"throughput × {rate[0]:.4f} ({rate[1]:.4f} … {rate[2]:.4f})  "
        f"compute × {compute[0]:.4f} ({compute[1]:.4f} … {compute[2]:.4f})"
    )


def engine_of(model: Path, backend: str, cache: Path) -> Path:
    """Return an engine for a model; an engine stays as it is."""
    if model.suffix.lower() in ENGINE_SUFFIXES:
        return model
    jobs = make_jobs([model], [backend], Workload(), data="none", engine_cache=cache)
    (run,) = build_engines(jobs, lambda _: None)
    if run.build is None:
        sys.exit(f"{model}: {run.outcome.message}")
    return Path(run.build.engine)


def bare_library(given: Path | None, folder: Path) -> Path:
    """Return the bare loop's library, compiled unless it is given."""
    if given is not None:
        return given
    command = [sys.executable, ROOT / "native" / "compile.py", BARE, folder / "bare.so"]
    subprocess.run(command, check=True)
    return folder / "bare.so"


def main() -> None:
    """Compare every model given, or the perceptrons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--on", default="trt")
    parser.add_argument("--cache", type=Path, help="engines built before")
    parser.add_argument("--bare", type=Path, help="the bare loop, compiled before")
    parser.add_argument("--json", type=Path, help="a file that gets a line for each row")
    given = parser.parse_args()
    print(f"on {load_backend('trt').availability().detail}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = None if shutil.which("trtexec") else bare_library(given.bare, folder)
        models = given.models or [
            perceptron(folder / f"{name}.onnx", *size) for name, size in PERCEPTRONS.items()
        ]
        for model in models:
            engine = engine_of(model, given.on, given.cache or folder / "engines")
            for transfers in (True, False):
                with sides_of(engine, bare, given.seconds, transfers=transfers) as sides:
                    for row in compare(model.stem, sides, given.pairs):
                        found = {**row, "transfers": transfers}
                        print(text_of(found), flush=True)
                        if given.json:
                            with given.json.open("a") as file:
                                file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
