"""The ONNX Runtime backends: one class, one execution provider each."""

from __future__ import annotations

from functools import partial
from typing import Any

from enginescope.backends.base import Availability, FeedSource, Measured, ProgressSink
from enginescope.backends.onnxruntime.answering import OrtAnswers
from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.options import check_options
from enginescope.backends.onnxruntime.probe_model import probe_failure
from enginescope.backends.onnxruntime.profile_pass import profile_nodes
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.backends.stepwise import measure
from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError
from enginescope.core.optional import require
from enginescope.model.job import BackendSpec, Job


class OrtBackend:
    """ONNX Runtime with one execution provider asked for.

    Parameters
    ----------
    name : str
        The backend's name, ``ort-cpu``.
    provider : str
        ONNX Runtime's name for the provider.
    install : str
        What to give pip for a build that has it.
    """

    def __init__(self, name: str, provider: str, install: str) -> None:
        self.name = name
        self.provider = provider
        self.install = install

    def check(self, spec: BackendSpec) -> None:
        """Refuse a precision, which would need a converted model, and unknown options."""
        if spec.precision is not None:
            raise UsageError(
                f"{self.name} has no precision {spec.precision!r}",
                why="ONNX Runtime computes in the precision the model carries",
                hint=f"--on {self.name}, with a model exported in {spec.precision}",
            )
        own = self.provider != "CPUExecutionProvider"
        check_options(self.name, spec.options, provider_options=own)

    def availability(self) -> Availability:
        """Say whether this build lists the provider; only a session can prove that it loads."""
        try:
            ort = self._runtime()
        except MissingDependencyError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        if self.provider not in ort.get_available_providers():
            return Availability(
                usable=False,
                detail=f"onnxruntime {ort.__version__} was built without it",
                hint=f"pip uninstall onnxruntime; pip install {self.install}",
            )
        failure = None if self.provider == "CPUExecutionProvider" else probe_failure(self.provider)
        if failure:
            hint = "the libraries it was built for: onnxruntime.print_debug_info() names them"
            return Availability(usable=False, detail=failure, hint=hint)
        return Availability(usable=True, detail=f"onnxruntime {ort.__version__}")

    def prepare(self) -> None:
        """Import ONNX Runtime."""
        self._runtime()

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Measure an ONNX model."""
        if job.subject.kind != "onnx":
            raise UnsupportedError(
                f"{self.name} cannot run {job.subject.name}", why="it is not an ONNX model"
            )
        ort = self._runtime()
        with translated(f"running {job.subject.name} on {self.name}"):
            return measure(
                job,
                lambda one: OrtSession(ort, one, self.provider),
                feeds,
                progress,
                partial(profile_nodes, ort, self.provider),
            )

    def open_for_answers(self, job: Job) -> OrtAnswers:
        """Load an ONNX model to answer samples."""
        if job.subject.kind != "onnx":
            raise UnsupportedError(
                f"{self.name} cannot run {job.subject.name}", why="it is not an ONNX model"
            )
        return OrtAnswers(self._runtime(), job, self.provider)

    def _runtime(self) -> Any:
        return require("onnxruntime", purpose=f"the backend {self.name}", install=self.install)


def cpu() -> OrtBackend:
    """Return the backend on the CPU provider, which is in every build."""
    return OrtBackend("ort-cpu", "CPUExecutionProvider", "onnxruntime")


def cuda() -> OrtBackend:
    """Return the backend on the CUDA provider."""
    return OrtBackend("ort-cuda", "CUDAExecutionProvider", "onnxruntime-gpu")


def tensorrt() -> OrtBackend:
    """Return the backend on the TensorRT provider."""
    return OrtBackend("ort-trt", "TensorrtExecutionProvider", "onnxruntime-gpu")
