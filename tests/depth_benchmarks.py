"""Comparisons of models of depth, made by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark, DepthSide
from enginescope.analysis.tasks.task_scoring import TaskScoring
from enginescope.core.record import replace
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.job import BackendSpec, Subject
from enginescope.records.run.run import Run
from tests.depth_models import smooth
from tests.render.gpu_runs import gpu_telemetry
from tests.render.runs import measured_run

SIZE = (40, 60)


class _Known:
    in_order = False

    def __init__(self, values: Any) -> None:
        self._values = values

    def base_names(self) -> tuple[str, ...]:
        return ("street",)

    def read(self, key: str) -> Any:
        return self._values


def timed_run(number: int, label: str, *, on_gpu: bool) -> Run:
    name, _, backend = label.rpartition(" · ")
    run = measured_run(id=f"{number}f3ac01944de", gpu=gpu_telemetry() if on_gpu else None)
    rng = np.random.default_rng(number)
    times = 4.2 * (1 - 0.2 * number) * (1 + 0.02 * rng.standard_normal(500))
    return replace(
        run,
        samples=(Samples(metric=run.samples[0].metric, values_ms=frozen(times)),),
        job=replace(
            run.job,
            subject=Subject(name=name, kind="engine"),
            backend=BackendSpec(name=backend.partition(":")[0]),
        ),
    )


def depth_benchmark(
    labels: Sequence[str], *, on_gpu: bool = True, knows_depth: bool = True
) -> DepthBenchmark:
    """Sides whose maps are the same but for rounding that grows from side to side."""
    far = smooth(np.random.default_rng(1), SIZE)
    known = np.where(np.random.default_rng(2).random(SIZE) < 0.1, 0, 12 * far + 1)
    maps = [
        12 * far + 1 + 0.1 * at * np.random.default_rng(at).standard_normal(SIZE)
        for at in range(len(labels))
    ]
    scoring = TaskScoring(
        DepthTask({}),
        "depth",
        lambda label, _: (tensor_of("depth", maps[list(labels).index(label)]),),
        ["street.jpg"],
    )
    return DepthBenchmark(
        image_name="street.jpg",
        image=(255 * np.stack([far] * 3, axis=-1)).astype(np.uint8),
        sides=tuple(
            DepthSide(label=one, view=RunView(timed_run(at, one, on_gpu=on_gpu)), depth=maps[at])
            for at, one in enumerate(labels)
        ),
        agreement=scoring.against_reference(labels[0], labels[1:]) if len(labels) > 1 else None,
        quality=scoring.against_targets(labels, _Known(known), "gt") if knows_depth else None,
        target=known if knows_depth else None,
    )
