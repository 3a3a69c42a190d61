"""Layer times beside Nsight Compute's: whether own times add up, repeat and rank as kernels do.

python benchmarks/layer_times.py ENGINE ... [--json FILE]

Each engine is loaded once and profiled ten times behind the gate, loaded anew and profiled so,
twice, and once as trtexec does. ``ncu`` must be on PATH: it times every kernel of one inference
after 200, with clocks and caches as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.backends.tensorrt import profile_pass
from enginescope.backends.tensorrt.libraries import Libraries, load
from enginescope.backends.tensorrt.profile_pass import profile_layers
from enginescope.backends.tensorrt.run.inference_stream import Gate
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.core.record import replace
from enginescope.records.plan.plan import Profile
from enginescope.records.run.job import Job, Mode, Workload
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.jobs import make_jobs

NCU = (
    *("ncu", "--clock-control", "none", "--cache-control", "none"),
    *("--metrics", "gpu__time_duration.sum", "--profile-from-start", "off"),
    *("--nvtx", "--print-nvtx-rename", "kernel", "--csv"),
)
_ROW = re.compile(r'(?m)^(?="\d+","\d+",")')
_KERNEL = re.compile(
    r'"([^"]*)","\d+","\d+","\([\d, ]+\)","\([\d, ]+\)".*"gpu__time_duration\.sum","ns","([\d.,]+)"'
)
#: A kernel's time is met within so many microseconds, or that share of it.
NEAR_US, NEAR = 0.5, 0.10
#: Of one loaded engine; every two of them are compared.
PASSES = 10
EAGER = Mode(kind="latency", cuda_graph=False)


def opened(engine: Path, libraries: Libraries) -> tuple[TrtSession, Job]:
    """A session with its inputs bound, and its job."""
    (job,) = make_jobs([engine], ["trt"], Workload(), data="none")
    session = TrtSession(libraries, job, EAGER)
    session.bind(make_feeds(session.input_specs, job.workload))
    return session, job


def run_for_ncu(engine: Path) -> None:
    """Run 200 inferences, and one that ncu looks at; NVTX ranges carry the layers' names alone."""
    libraries = load()
    session, _ = opened(engine, libraries)
    session.contexts[0].nvtx_verbosity = libraries.trt.ProfilingVerbosity.LAYER_NAMES_ONLY
    for _ in range(200):
        session.step()
    launch, arguments = session.lanes[0].launches[0]
    libraries.cuda.cudaProfilerStart()
    launch(*arguments)
    libraries.cuda.cudaDeviceSynchronize()
    libraries.cuda.cudaProfilerStop()
    session.close()


def kernels_of(engine: Path, layers: list[str]) -> tuple[dict[str, list[float]], float]:
    """Kernel times in us by layer, and their sum with those that no layer's name begins."""
    command = [*NCU, sys.executable, __file__, "--one", str(engine)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, list[float]] = {}
    whole = 0.0
    for row in _ROW.split(text)[1:]:
        match = _KERNEL.search(row)
        if match is None:
            sys.exit(f"ncu printed a row of another form: {row[-300:]}")
        time_us = float(match[2].replace(",", "")) / 1e3
        whole += time_us
        names = [name for name in layers if match[1] == name or match[1].startswith(f"{name}/")]
        if names:
            found.setdefault(max(names, key=len), []).append(time_us)
    return found, whole


def own_us(profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Own times of a profile's layers in us, and the upper ends of their intervals."""
    layers = layer_times(profile).layers
    own = [1e3 * (one.time_ms or 0.0) for one in layers]
    alone = [1e3 * one.interval.high if one.interval else np.nan for one in layers]
    return np.array(own), np.array(alone)


def reported_us(profile: Profile) -> float:
    """The sum of the medians that the profiler reported, in us."""
    return 1e3 * sum(one.median_ms or 0.0 for one in profile.layers)


def passes_of_one(engine: Path, libraries: Libraries) -> list[Profile]:
    """Profile passes of one loaded engine."""
    session, _ = opened(engine, libraries)
    profiler = profile_pass._profiler(libraries.trt)
    session.step()
    gate = Gate(libraries.driver, session.cuda, session.lanes[0].compute_stream)
    times = profile_pass._inferences(session, gate, lambda: None)
    without = profile_pass.Whole(float(np.median(times)), None)
    found = [
        profile_pass.profile_of(*profile_pass._collect(session, profiler, gate), without)
        for _ in range(PASSES)
    ]
    session.close()
    return found


def farthest_pct(first: np.ndarray, second: np.ndarray) -> float:
    """The largest difference of two passes in percent, over layers above 5 us."""
    long = first > 5
    return float(100 * np.max(np.abs(second[long] / first[long] - 1), initial=0.0))


def agreement(engine: Path) -> dict[str, Any]:
    """What holds of one engine; times in microseconds."""
    libraries = load()
    session, job = opened(engine, libraries)
    feeds = make_feeds(session.input_specs, job.workload)
    session.close()
    of_one = passes_of_one(engine, libraries)
    raw = [profile_layers(libraries, job, feeds)[0] for _ in range(2)]
    plain = replace(job, profile_mode="trtexec")
    ungated = profile_layers(libraries, plain, feeds)[0]
    (first, alone), (second, _) = map(own_us, raw)
    names = [one.name for one in raw[0].layers]
    kernels, kernel_sum = kernels_of(engine, names)
    single = [at for at, name in enumerate(names) if len(kernels.get(name, ())) == 1]
    oracle = np.array([kernels[names[at]][0] for at in single])
    within = np.maximum(NEAR_US, NEAR * oracle)
    error, error_alone = first[single] - oracle, alone[single] - oracle
    top = set(np.argsort(-first[single])[:10]), set(np.argsort(-oracle)[:10])
    passes = [own_us(one)[0] for one in of_one]
    return {
        "engine": engine.stem,
        "layers": len(names),
        "with a kernel": len(kernels),
        "gated": 1e3 * (raw[0].gated_ms or 0.0),
        "own sum": float(first.sum()),
        "raw sum": reported_us(raw[0]),
        "raw sum, trtexec's way": reported_us(ungated),
        "ncu sum": kernel_sum,
        "passes differ by %": max(farthest_pct(*pair) for pair in combinations(passes, 2)),
        "loaded anew, by %": farthest_pct(first, second),
        "single kernels": len(single),
        "own near ncu %": float(100 * (np.abs(error) <= within).mean()) if single else None,
        "alone near ncu %": float(100 * (np.abs(error_alone) <= within).mean()) if single else None,
        "own less ncu": float(np.median(error)) if single else None,
        "alone less ncu": float(np.nanmedian(error_alone)) if single else None,
        "same of the ten slowest": len(top[0] & top[1]),
        "table": [
            {"layer": names[at], "own": float(first[at]), "again": float(second[at]),
             "alone": float(alone[at]), "raw": 1e3 * (raw[0].layers[at].median_ms or 0.0),
             "ncu": kernels.get(names[at])}
            for at in range(len(names))
        ],
    }  # fmt: skip


def main() -> None:
    """Print what holds of each engine, and keep every layer's times with --json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_for_ncu(given.one)
        return
    if shutil.which("ncu") is None:
        sys.exit("ncu is not on PATH: it comes with CUDA's Nsight Compute")
    found = []
    for engine in given.engines:
        one = agreement(engine)
        found.append(one)
        print(", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in one.items() if key != "table"
        ), flush=True)  # fmt: skip
        if given.json:
            given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
