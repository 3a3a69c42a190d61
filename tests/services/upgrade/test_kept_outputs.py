from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from enginescope.analysis.upgrade.reproduced import reproduced_outputs
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.sample_set import Sample, SkippedSample
from enginescope.records.verdict.upgrade import BundledOutputs, OutputReason
from enginescope.render.reproduction.reproduction_answer import change_of_output
from enginescope.services.accuracy.sides import Side
from enginescope.services.upgrade.evidence import KeptOutputs, _read

SAMPLES = (Sample(name="a"), Sample(name="b"))
SUBJECT = Subject(name="net.onnx")


def kept(folder: Path, *values, most_bytes: int = 1 << 20, skipped=()) -> BundledOutputs:
    """Keep outputs ``y`` of a reference of zeros and of one process of ``new`` for each value."""
    outputs = {"reference": np.zeros(3, np.float32)}
    sides = [Side(label="reference", folder="expected")]
    for number, value in enumerate(values):
        job = Job(subject=SUBJECT, backend=BackendSpec(name="ort-cpu", environment="new"))
        sides.append(Side(label=f"#{number}", job=job))
        outputs[f"#{number}"] = np.asarray(value)
    run = SimpleNamespace(
        skipped=skipped,
        has_answers=lambda label: outputs[label].size,
        answers_of=lambda label, _sample: (tensor_of("y", outputs[label]),),
    )
    keeper = KeptOutputs(folder, most_bytes)
    keeper.start_model()
    keeper.keep("net.onnx", run, sides, SAMPLES)
    return keeper.models[0]


def ones(value: float) -> np.ndarray:
    return np.full(3, value, np.float32)


def changes(tmp_path, before, after, **more):
    recorded = kept(tmp_path / "a", *before, **more)
    again = kept(tmp_path / "b", *after)
    return reproduced_outputs(
        recorded,
        again,
        lambda sample: _read(tmp_path / "a", sample),
        lambda sample: _read(tmp_path / "b", sample),
    )


def test_equal_outputs_are_one_file_and_large_ones_have_hashes(tmp_path) -> None:
    found = kept(tmp_path, ones(0), ones(1))
    assert found.size_bytes == 24
    places = {sample.place for process in found.processes for sample in process.samples}
    assert places == {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.npz")}
    assert len(places) == 2
    assert [process.samples[0].tensors[0].max_abs_error for process in found.processes] == [
        None,
        0.0,
        1.0,
    ]
    found = kept(tmp_path, ones(0), skipped=(SkippedSample(sample=0, name="a", why="damaged"),))
    assert [[one.sample for one in process.samples] for process in found.processes] == [["b"]] * 2
    assert not changes(tmp_path, [ones(1), ones(2)], [ones(2), ones(3)]).changes
    large = tmp_path / "large"
    found = changes(large, [ones(1)], [ones(2)], most_bytes=23)
    assert not list((large / "a").rglob("*.npz"))
    change = found.changes[0]
    assert (change.reason, change.gap) == (OutputReason.HASHES, None)
    assert (change.recorded_error, change.error) == (1.0, 2.0)
    assert "has another hash, error 1 → 2" in change_of_output(change)
    assert not changes(large, [ones(1)], [ones(1)], most_bytes=0).changes


@pytest.mark.parametrize(
    ("before", "after", "reason", "gap", "text"),
    [
        ([ones(0.5)], [ones(0.75)], OutputReason.VALUES, 0.25, "differs by 0.25, error 0.5 → 0.75"),
        ([ones(0.5), ones(1)], [ones(0.75), ones(1.125)], OutputReason.VALUES, 0.125, "as its"),
        ([ones(0.0)], [ones(-0.0)], OutputReason.VALUES, 0.0, "differs in bits alone"),
        ([ones(0.5)], [np.zeros(4, np.float32)], OutputReason.KIND, None, "differs in type"),
        ([ones(0.5)], [ones(np.nan)], OutputReason.KIND, None, "differs in type"),
        ([ones(0.5)], [np.zeros(0)], OutputReason.MISSING, None, "is missing"),
    ],
)
def test_outputs_that_are_not_as_recorded(tmp_path, before, after, reason, gap, text) -> None:
    found = changes(tmp_path, before, after)
    assert found.compared == 4
    assert [(one.stack, one.sample, one.reason, one.gap) for one in found.changes] == [
        ("new", "a", reason, gap),
        ("new", "b", reason, gap),
    ]
    assert text in change_of_output(found.changes[0])
    assert change_of_output(found.changes[0]).startswith("y of a on new ")
