"""Inputs of the timed models: which one takes the picture, on which GPU, and the stored file."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from enginescope.core.errors import BackendError, UsageError
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.sample_set import AnswerRequest
from enginescope.records.tensor import Tensor
from enginescope.runner.inputs.collect_outputs import answered

#: Says what a model takes without building anything.
_PLAIN = BackendSpec(name="ort-cpu")
#: How backends are told which GPU.
_GPU_OPTIONS = {"trt": "device", "ort-cuda": "device_id", "ort-trt": "device_id"}


def picture_input(job: Job, folder: Path) -> Tensor:
    """Return the input of four dimensions.

    A model is asked on ONNX Runtime: TensorRT would have to build it first, for a size that
    is yet to be found out.

    Raises:
        UsageError: There is none.
        BackendError: The model cannot be loaded.
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


class SavedInputs:
    """A folder with the input of each side.

    Args:
        folder: Made when the first comes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[Path] = []

    def keep(self, number: int, source: Path) -> Path:
        """Return where a copy of `source` stays."""
        self._folder.mkdir(exist_ok=True)
        kept = self._folder / f"{number}.npz"
        if not kept.exists():  # one of an earlier call stays, whatever becomes of this one
            self._new.append(kept)
        shutil.copyfile(source, kept)
        return kept

    def drop_but(self, number: int) -> None:
        """Take away what came anew, but for the first `number`: those that stored runs name."""
        of_runs = {self._folder / f"{one}.npz" for one in range(1, number + 1)}
        for one in self._new:
            if one not in of_runs:
                one.unlink(missing_ok=True)
        with suppress(OSError):  # something lies in it, or it was never made
            self._folder.rmdir()
