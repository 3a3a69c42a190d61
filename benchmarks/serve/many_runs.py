"""A store of many runs with the series that a GPU's runs have, made without measuring any."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.suite_page import make as make_suite

from enginescope.core.sidecar import SEAL
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Environment
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SUITES, SuiteFolder

MODELS = 25
BACKENDS = ("ort-cpu", "trt:fp16")
#: Runs whose samples differ; the others share the files of one of them.
PATTERNS = 40
SERIES = ("latency", "gpu_compute", "h2d", "d2h", "enqueue", "host_latency")
SAMPLES = 500
SUITE_CELLS = 400
_BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def make(store: Path, count: int) -> None:
    """Write `count` runs of `MODELS` models, half an hour after each other, and a suite.

    Every hundredth step another driver is installed, and with every second one figures rise.
    """
    patterns = [_pattern(store, number) for number in range(PATTERNS)]
    documents = [_unsealed(folder) for folder in patterns]
    for number in range(PATTERNS, count):
        age = number // MODELS
        level = PATTERNS // 2 * (age // 100 % 2)
        at = level + number % (PATTERNS // 2)
        folder = store / "runs" / f"{number:012x}"
        (folder / "arrays").mkdir(parents=True)
        for file in (patterns[at] / "arrays").iterdir():
            os.link(file, folder / "arrays" / file.name)
        document: dict[str, Any] = documents[at]
        document["id"] = folder.name
        document["created"] = (_BEGIN + timedelta(minutes=30 * number)).isoformat()
        document["job"]["subject"]["name"] = f"model-{number % MODELS}.onnx"
        document["job"]["backend"] = _backend(BACKENDS[number // MODELS % len(BACKENDS)])
        document["environment"]["versions"] = {"onnxruntime": f"1.{age // 100}"}
        (folder / "run.json").write_text(json.dumps(document))
    make_suite(SuiteFolder(store / SUITES / "zoo"), SUITE_CELLS)


def _unsealed(folder: Path) -> dict[str, Any]:
    """Return a run's record without its checksum, which no edit would fit."""
    document: dict[str, Any] = json.loads((folder / "run.json").read_text())
    del document[SEAL]
    return document


def _pattern(store: Path, number: int) -> Path:
    """Store one run whose samples depend on each other, as measured ones do."""
    random = np.random.default_rng(number)
    drift = np.cumsum(random.normal(0, 0.002, SAMPLES))
    level = 1.0 if number < PATTERNS // 2 else 1.1
    run = Run(
        id=f"{number:012x}",
        created=(_BEGIN + timedelta(minutes=30 * number)).isoformat(),
        origin="measured",
        job=Job(
            subject=Subject(name=f"model-{number % MODELS}.onnx"),
            backend=BackendSpec(name=BACKENDS[0]),
        ),
        environment=Environment(),
        samples=tuple(
            Samples(metric=name, values_ms=frozen(level + drift + random.gamma(2, 0.02, SAMPLES)))
            for name in SERIES
        ),
    )
    Store(store).save(run)
    return store / "runs" / run.id


def _backend(name: str) -> dict[str, Any]:
    base, _, precision = name.partition(":")
    return {"name": base, "precision": precision} if precision else {"name": base}
