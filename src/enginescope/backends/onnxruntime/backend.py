"""The ONNX Runtime backends: one class, one execution provider each."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from enginescope.backends.base import Availability, FeedSource, Measured, ProgressSink
from enginescope.backends.onnxruntime import prepared, preparing, providers
from enginescope.backends.onnxruntime.answering import OrtAnswers
from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.missing import library_hint_for, wheel_hint
from enginescope.backends.onnxruntime.opening import Setup, setup_of
from enginescope.backends.onnxruntime.options import check_spec, fp16_way
from enginescope.backends.onnxruntime.placement import require_work, with_reasons
from enginescope.backends.onnxruntime.plugins import library_of
from enginescope.backends.onnxruntime.precision_notices import precision_notices
from enginescope.backends.onnxruntime.probe_model import probe_failure
from enginescope.backends.onnxruntime.profile_pass import ProfilePass
from enginescope.backends.onnxruntime.providers import Provider
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.backends.recorder import Recorder
from enginescope.backends.stepwise import measure
from enginescope.core.errors import BackendError, MissingDependencyError, UnsupportedError
from enginescope.core.optional import is_installed, require
from enginescope.model.job import BackendSpec, Job
from enginescope.model.preparation import Preparation

_CONVERT = "enginescope[convert]"


class OrtBackend:
    """ONNX Runtime with one execution provider asked for.

    Parameters
    ----------
    provider : Provider
    name : str, optional
        The backend's name; by default the provider's.
    """

    def __init__(self, provider: Provider, name: str | None = None) -> None:
        self.provider = provider
        self.name = name or provider.backend

    @property
    def mode_fields(self) -> frozenset[str]:
        """What of a `Mode` it honours: copies and CUDA graphs, where there is a GPU."""
        fields = {"transfers"} if self.provider.on_cuda else set()
        return frozenset(fields | ({"cuda_graph"} if self.provider.graph_option else set()))

    def check(self, spec: BackendSpec) -> None:
        """Refuse a precision, value or option that cannot be."""
        check_spec(spec, self.provider)

    def require(self, spec: BackendSpec) -> None:
        """Say what a conversion that `spec` asks for needs; providers are asked in the worker.

        Raises
        ------
        UsageError
            The library of the provider is not there.
        MissingDependencyError
            A package of a conversion is not installed.
        """
        given = spec.options.get("plugin")
        if given is not None:
            library_of(self.provider, given)
        if fp16_way(spec, self.provider) == "converter":
            _must_be_installed("onnx-ir", f"{spec.name}:{spec.precision}")
        if spec.options.get("infer_shapes") == "always":
            _must_be_installed("sympy", "infer_shapes=always")

    def availability(self) -> Availability:
        """Say whether this build lists the provider; only a session can prove that it loads."""
        try:
            ort = self._runtime()
        except MissingDependencyError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        version = f"onnxruntime {ort.__version__}"
        if self.provider.name not in ort.get_available_providers():
            if library_of(self.provider, None) is not None:
                return Availability(usable=True, detail=f"{version}, as a library of its own")
            return Availability(
                usable=False,
                detail=f"{version} was built without it",
                hint=wheel_hint(self.provider),
            )
        failure = None if self.provider.is_cpu else probe_failure(self.provider.name)
        if failure:
            hint = library_hint_for(ort, failure)
            return Availability(usable=False, detail=failure, hint=hint)
        return Availability(usable=True, detail=version)

    def prepare(self) -> None:
        """Import ONNX Runtime."""
        self._runtime()

    def needs_preparation(self, job: Job) -> bool:
        """Whether the model is to be converted, or the provider builds engines that are kept."""
        return prepared.needs_preparation(job, self.provider)

    def prepared_for(self, job: Job) -> Preparation | None:
        """Return what was made ready earlier for `job`."""
        return prepared.find(job, self.provider)

    def make_ready(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Convert the model; let the provider build its engines."""
        self._must_be_onnx(job)
        with translated(f"making {job.subject.name} ready for {self.name}"):
            return preparing.make_ready(self._runtime(), job, self.provider, feeds, progress)

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Measure an ONNX model."""
        self._must_be_onnx(job)
        ort = self._runtime()
        with translated(f"running {job.subject.name} on {self.name}"):
            setup, found = self._setup(ort, job)
            profiling = ProfilePass(ort, setup)
            measured = measure(
                job,
                lambda one: OrtSession(ort, one, setup),
                feeds,
                progress,
                profiling,
                complete=partial(_complete, job),
            )
        if measured.profile is not None:
            require_work(self.provider, measured.placement, measured.profile)
        placement = with_reasons(measured.placement, self.provider.name, profiling.reasons)
        return msgspec.structs.replace(
            measured,
            placement=placement,
            arenas=profiling.arenas,
            notices=(*precision_notices(job, self.provider, found), *measured.notices),
        )

    def open_for_answers(self, job: Job) -> OrtAnswers:
        """Load an ONNX model to answer samples."""
        self._must_be_onnx(job)
        ort = self._runtime()
        return OrtAnswers(ort, job, self._setup(ort, job)[0])

    def _setup(self, ort: Any, job: Job) -> tuple[Setup, Preparation | None]:
        found = prepared.read(Path(job.engine), job, self.provider) if job.engine else None
        if found is None and (job.engine or prepared.needs_another_model(job, self.provider)):
            raise BackendError(
                f"{job.subject.name} is not made ready for {self.name}",
                why=f"{job.engine} is gone or not whole" if job.engine else "nothing was prepared",
                hint="measure again with --rebuild",
            )
        return setup_of(ort, job, self.provider, found), found

    def _must_be_onnx(self, job: Job) -> None:
        if job.subject.kind != "onnx":
            raise UnsupportedError(
                f"{self.name} cannot run {job.subject.name}", why="it is not an ONNX model"
            )

    def _runtime(self) -> Any:
        install = self.provider.install if not self.provider.plugin else "onnxruntime"
        return require("onnxruntime", purpose=f"the backend {self.name}", install=install)


def _complete(job: Job, measured: Measured, session: Any, _recorder: Recorder) -> Measured:
    """Add what only this kind of session knows."""
    return msgspec.structs.replace(
        measured,
        mode=session.mode,
        device_memory=session.device_memory(),
        answers=session.answers() if job.keep_outputs else (),
    )


def _must_be_installed(package: str, asker: str) -> None:
    """Raise unless a package is there, without importing it."""
    if not is_installed(package.replace("-", "_")):
        raise MissingDependencyError(
            f"Python package {package} is not available",
            why=f"{asker} needs it",
            hint=f"pip install '{_CONVERT}'",
        )


def cpu() -> OrtBackend:
    """Return the backend on the CPU provider, which is in every build."""
    return OrtBackend(providers.CPU)


def cuda() -> OrtBackend:
    """Return the backend on the CUDA provider."""
    return OrtBackend(providers.CUDA)


def tensorrt() -> OrtBackend:
    """Return the backend on the TensorRT provider."""
    return OrtBackend(providers.TENSORRT)


def tensorrt_rtx() -> OrtBackend:
    """Return the backend on the provider of TensorRT for RTX."""
    return OrtBackend(providers.TENSORRT_RTX)


def any_provider(name: str) -> OrtBackend:
    """Return the backend on the provider that ONNX Runtime calls `name`: ``ort:NAME``."""
    return OrtBackend(providers.provider_called(name), f"ort:{name}")
