from pathlib import Path

import onnxruntime
import pytest
from onnx import helper

from enginescope.core.errors import UsageError
from enginescope.records.run.job import Workload
from enginescope.records.run.run import Run
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.memory import memory
from enginescope.services.memory.memory import MemoryRequest, explain_memory
from tests.backends.onnxruntime.models import info, write
from tests.formats import plans
from tests.store.test_archive import a_run

MIB = 1 << 20
#: From 1.28 on, ONNX Runtime tells the marks of its allocator.
KEEPS_MARKS = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 28)


def planted(path: Path) -> Path:
    """Write a model whose peak is one tensor: 64 rows of x, each 1 MiB."""
    return write(
        path,
        [
            helper.make_node("Sin", ["x"], ["small"], name="before"),
            helper.make_node("Expand", ["small", "rows"], ["big"], name="widen"),
            helper.make_node("ReduceMax", ["big"], ["less"], name="narrow", axes=[0]),
            helper.make_node("Cos", ["less"], ["y"], name="after"),
        ],
        [info("x", "batch", MIB // 4)],
        [info("y", "batch", MIB // 4)],
        rows=[64, 1],
    )


def test_the_tensor_that_makes_the_peak_is_told(tmp_path) -> None:
    request = MemoryRequest(what=planted(tmp_path / "wide.onnx"), workload=Workload(batch=1))
    view = explain_memory(request, MeasurementObserver()).view
    assert view.peak_layer.name in ("widen", "narrow")
    largest = view.peak_buffers[0]
    assert (largest.tensor.name, largest.nbytes) == ("big", 64 * MIB)
    assert (view.arena is not None) is KEEPS_MARKS
    if view.arena is not None:
        measured = max(one.peak_bytes for one in view.arena.steps)
        for made in (view.predicted, view.replayed):
            assert made.first_peak_bytes == pytest.approx(measured, abs=2 * MIB)
    assert view.process_bytes > view.runtime_bytes + 60 * MIB


def test_the_largest_size_that_fits_is_searched(tmp_path, monkeypatch) -> None:
    """Each process takes 80 MiB, and 7 MiB an item."""

    def measured(request, model, observer, workload, **fields) -> Run:
        return a_run(peak_memory_bytes=(80 + 7 * (workload.batch or 1)) * MIB)

    monkeypatch.setattr(memory, "_measured", measured)
    request = MemoryRequest(what=planted(tmp_path / "net.onnx"), fits_bytes=512 * MIB)
    fit = memory._fit(request, Path(request.what), MeasurementObserver())
    assert (fit.dim, fit.size, fit.process_bytes) == ("batch", 61, (80 + 7 * 61) * MIB)
    assert {61, 62} <= {probe.size for probe in fit.probes}
    small = MemoryRequest(what=request.what, fits_bytes=80 * MIB)
    fit = memory._fit(small, Path(request.what), MeasurementObserver())
    assert (fit.size, fit.process_bytes) == (0, None)


def test_a_limit_needs_a_model(tmp_path) -> None:
    path = tmp_path / "net.graph.json"
    path.write_bytes(plans.encoded(plans.tensorrt_8_4()))
    assert explain_memory(MemoryRequest(what=path), MeasurementObserver()).view.predicted is None
    with pytest.raises(UsageError, match="not an ONNX model"):
        explain_memory(MemoryRequest(what=path, fits_bytes=MIB), MeasurementObserver())
