"""The answers of real nets, broken: no tolerance that is shipped passes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.errors.channel_errors import kind_of
from enginescope.analysis.errors.output_tolerance import TOLERANCES, tolerance_named
from enginescope.backends.base import InputSpec
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.records.run.job import InputRange, InputShape, Workload
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Preprocessing
from enginescope.runner.inputs.sample_feeds import (
    data_sets_beside,
    random_samples,
    sample_feeds,
    samples_in,
)

SAMPLES = 3
BERT = Workload(
    shapes=tuple(
        InputShape(name=name, dims=(1, 16))
        for name in ("input_ids", "token_type_ids", "input_mask")
    ),
    ranges=(
        InputRange(name="input_ids", low=0, high=98),
        InputRange(name="token_type_ids", low=0, high=1),
        InputRange(name="input_mask", low=1, high=1),
    ),
)

Answers = list[tuple[TensorValues, ...]]


def answers(model: Path, workload: Workload) -> Answers:
    """What ONNX Runtime answers to the model's own data sets, and to random inputs."""
    from enginescope.backends.onnxruntime.options import dtype_of

    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    specs = tuple(
        InputSpec(
            name=one.name,
            type_text=one.type,
            dtype=dtype_of(one.type),
            shape=tuple(dim if isinstance(dim, int) else None for dim in one.shape),
        )
        for one in session.get_inputs()
    )
    own = data_sets_beside(model)
    samples = samples_in(own).samples if own else ()
    samples = (*samples, *random_samples(SAMPLES, 0, ())[0])[:SAMPLES]
    names = [one.name for one in session.get_outputs()]
    found = []
    for one in samples:
        fed = sample_feeds(specs, one, workload, Preprocessing())
        values = session.run(None, dict(fed.arrays))
        found.append(tuple(map(tensor_of, names, values)))
    return found


def changed(found: Answers, change: Any) -> Answers:
    """Change every array of floats."""
    return [
        tuple(
            tensor_of(one.name, np.ascontiguousarray(change(one.data)))
            if kind_of(one.dtype) == "float"
            else one
            for one in sample
        )
        for sample in found
    ]


def noise(values: Any) -> Any:
    generator = np.random.default_rng(values.size)
    return generator.uniform(values.min(), values.max(), values.shape).astype(values.dtype)


def turned(values: Any) -> Any:
    """Transposed, in the same shape or another."""
    return values.T if values.ndim > 1 else values[::-1]


def corruptions(found: Answers) -> dict[str, Answers]:
    return {
        "noise": changed(found, noise),
        "swapped samples": [found[-1], *found[:-1]],
        "swapped halves": changed(found, lambda one: np.roll(one, one.size // 2)),
        "transposed": changed(found, turned),
        "scaled": changed(found, lambda one: (1.01 * one).astype(one.dtype)),
    }


def passed(reference: Answers, candidate: Answers, row: str) -> bool:
    comparison = SideComparison("B", lambda _: tolerance_named(row))
    for number, (a, b) in enumerate(zip(reference, candidate, strict=True)):
        comparison.add(number, f"sample {number}", a, b)
    return comparison.result().passes


def check(model: Path, workload: Workload | None = None) -> None:
    found = answers(model, workload or Workload())
    for row in TOLERANCES:
        assert passed(found, found, row), row
        for name, wrong in corruptions(found).items():
            assert not passed(found, wrong, row), (row, name)


@pytest.mark.slow
def test_the_bundled_nets(convnet, transformer) -> None:
    check(convnet)
    check(transformer)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v2_scores", "mnist_cnn", "voice_commands", "bert_toy"])
def test_the_trained_nets(shared, name) -> None:
    model = shared / "models" / name / "model.onnx"
    if not model.is_file():
        pytest.skip(f"there is no {name}")
    check(model, BERT if name == "bert_toy" else None)
