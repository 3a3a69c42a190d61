"""Which input of a model takes the picture, and on which GPU."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from enginescope.core.errors import BackendError, UsageError
from enginescope.model.job import BackendSpec, Job
from enginescope.model.sample_set import AnswerRequest
from enginescope.model.tensor import Tensor
from enginescope.runner.answering import answered

#: Says what a model takes without building anything.
_PLAIN = BackendSpec(name="ort-cpu")
#: How backends are told which GPU.
_GPU_OPTIONS = {"trt": "device", "ort-cuda": "device_id", "ort-trt": "device_id"}


def picture_input(job: Job, folder: Path) -> Tensor:
    """Return the input of four dimensions.

    A model is asked on ONNX Runtime: TensorRT would have to build it first, for a size that
    is yet to be found out.

    Raises
    ------
    UsageError
        There is none.
    BackendError
        The model cannot be loaded.
    """
    asked = replace(job, answering=AnswerRequest(folder=str(folder)))
    if job.subject.kind == "onnx" and job.backend.name != _PLAIN.name:
        try:
            run = answered(replace(asked, backend=_PLAIN))
        except BackendError:  # operators of plug-ins
            run = answered(asked)
    else:
        run = answered(asked)
    found = next((one for one in run.inputs if len(one.shape or ()) == 4), None)
    if found is None:
        shapes = ", ".join(f"{one.name} {one.shape}" for one in run.inputs)
        raise UsageError(f"{job.subject.name} takes no picture", why=shapes)
    return found


def on_gpu(backend: str, number: int) -> str:
    """Return a backend with the number of its GPU, unless it is the first or is named already."""
    key = _GPU_OPTIONS.get(backend.partition("?")[0].partition(":")[0])
    if not number or key is None or f"{key}=" in backend:
        return backend
    return f"{backend}{'&' if '?' in backend else '?'}{key}={number}"
