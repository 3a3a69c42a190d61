"""Flags of the command line and arguments of Python make the same jobs."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.records.run.job import (
    Conditions,
    Limits,
    StopRule,
    TelemetryRule,
    WarmUp,
    Workload,
)
from enginescope.store.archive import Store
from tests.plants.in_process import workers_in_process

STOP = StopRule(iterations=5)
NONE = WarmUp(time_ms=0, iterations=0)
FLAGS = ("--on", "fake", "--iterations", "5", "--warmup", "0")


def stored(folder: Path) -> list[tuple[dict[str, Any], list[str], str | None]]:
    """Return job, tags and commit of the runs in a store."""
    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("runs/*/run.json"))]
    runs.sort(key=lambda run: run["created"])
    for run in runs:
        run["job"].pop("engine_cache")
    tags = {row.id: sorted(row.tags) for row in Store(folder).rows()}
    return [
        (run["job"], tags[run["id"]], (run["environment"]["commit"] or {}).get("id"))
        for run in runs
    ]


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ((), {}),
        (("--no-layers",), {"layer_profile": False}),
        (("--tag", "a", "--tag", "b", "--commit", "v1"), {"tags": ("a", "b"), "commit": "v1"}),
        (("--pin", "0"), {"conditions": Conditions(pinned_cores=(0,))}),
        (("--rebuild",), {"rebuild": True}),
        (("--seed", "3"), {"workload": Workload(warmup=NONE, stop=STOP, seed=3)}),
        (
            ("--telemetry", "--telemetry-time", "100ms", "--timeout", "90s"),
            {
                "telemetry": TelemetryRule(depth="full", duration_ms=100),
                "limits": Limits(timeout_s=90, build_timeout_s=90),
            },
        ),
        (("--no-telemetry",), {"telemetry": "off"}),
        (("--data", "none"), {"data": "none"}),
    ],
)
def test_bench(tmp_path, flags, arguments) -> None:
    model = tmp_path / "m.onnx"
    model.touch()
    (tmp_path / "test_data_set_0").mkdir()
    line = ["bench", str(model), *FLAGS, *flags, "--store", str(tmp_path / "a"), "--json"]
    arguments = {"workload": Workload(warmup=NONE, stop=STOP), **arguments}
    with nullcontext() if "--pin" in flags else workers_in_process():  # or this one were pinned
        status = main(line)
        es.bench(model, on="fake", store=tmp_path / "b", **arguments)
    assert (status, stored(tmp_path / "a")) == (0, stored(tmp_path / "b"))


def test_bench_interleaved(tmp_path) -> None:
    model = tmp_path / "m.onnx"
    model.touch()
    backends = ("fake", "fake?fault=segfault")  # the comparison is given up after two rounds
    on = [part for backend in backends for part in ("--on", backend)]
    arguments = ["bench", str(model), *on, "--compare", "--warmup", "0", "--iterations", "5"]
    assert main([*arguments, "--tag", "t", "--store", str(tmp_path / "a"), "--json"]) == 3
    with pytest.raises(es.EnginescopeError, match="SIGSEGV"):
        es.bench_interleaved(
            model,
            on=backends,
            workload=Workload(warmup=NONE, stop=STOP),
            tags=["t"],
            store=tmp_path / "b",
        )
    first, second = ([job for job, _, _ in stored(tmp_path / side)] for side in "ab")
    assert first == second
