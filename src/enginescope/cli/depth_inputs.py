"""Which input of a model takes the picture, and how large it is fed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from enginescope.core.errors import BackendError, UsageError
from enginescope.model.job import BackendSpec, Job
from enginescope.model.sample_set import AnswerRequest
from enginescope.model.tensor import Tensor
from enginescope.runner.answering import answered

_COLOURS = (1, 3, 4)
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


def fed_shape(one: Tensor, size: int) -> tuple[int, ...]:
    """Return the shape that an input is fed with: one picture, open sides of `size`."""
    shape = one.shape or ()
    is_last = _has_channels_last(shape)
    channels, sides = (3, (1, 2)) if is_last else (1, (2, 3))
    fills = {0: 1, channels: 3, **dict.fromkeys(sides, size)}
    return tuple(fills[axis] if dim is None else dim for axis, dim in enumerate(shape))


def height_width(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the sides of a shape of a picture."""
    return (shape[1], shape[2]) if _has_channels_last(shape) else (shape[2], shape[3])


def _has_channels_last(shape: Sequence[int | None]) -> bool:
    return shape[1] not in _COLOURS and shape[3] in _COLOURS


def on_gpu(backend: str, number: int) -> str:
    """Return a backend with the number of its GPU, unless it is the first or is named already."""
    key = _GPU_OPTIONS.get(backend.partition("?")[0].partition(":")[0])
    if not number or key is None or f"{key}=" in backend:
        return backend
    return f"{backend}{'&' if '?' in backend else '?'}{key}={number}"
