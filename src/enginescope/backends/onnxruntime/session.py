"""One ONNX Runtime session, driven one request at a time."""

from __future__ import annotations

from typing import Any

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.options import is_session_option, session_options
from enginescope.backends.onnxruntime.placement import (
    read_placement,
    request_assignment,
    require_provider,
)
from enginescope.backends.onnxruntime.requests import Request, request_for
from enginescope.backends.onnxruntime.types import dtype_of
from enginescope.backends.recorder import Step, StepRecorder
from enginescope.core.errors import UnsupportedError
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.tensor import Tensor

#: What ONNX Runtime says, in one wording or another, when a provider's libraries do not load.
_LIBRARY_WORDS = ("please install", "failed to load", "shared object", "failed to create")


class OrtSession:
    """A loaded model. A step is the full round trip: copies the provider makes are inside it."""

    def __init__(
        self, ort: Any, job: Job, provider: str, *, profile_prefix: str | None = None
    ) -> None:
        self._ort = ort
        on_cpu = provider == "CPUExecutionProvider"
        self.gpu = None if on_cpu else job.backend.options.get("device_id", "0")
        options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
        request_assignment(options)
        if profile_prefix is not None:
            options.enable_profiling = True
            options.profile_file_prefix = profile_prefix
        self._session = _open(ort, job, provider, options)
        self.placement = read_placement(self._session)
        require_provider(self._session, provider, self.placement)
        self.providers: tuple[str, ...] = tuple(self._session.get_providers())
        self.input_specs = tuple(_spec(one) for one in self._session.get_inputs())
        self.step: Step = self._guarded

    @property
    def session(self) -> Any:
        """ONNX Runtime's own session."""
        return self._session

    def bind(self, feeds: Feeds) -> None:
        """Place the inputs where the step reads them."""
        self._arrays = feeds.arrays
        self._request: Request = request_for(
            self._ort, self._session, self.input_specs, feeds.arrays
        )

    def settle(self) -> None:
        """After the first step: allocate the outputs once, and leave the step bare."""
        with translated("binding the outputs"):
            self._request.settle()
        self.step = self._request.step

    def _guarded(self) -> None:
        """Step before `settle`: as the bare one, with errors in our words."""
        with translated("the first inference"):
            self._request.first()

    def recorder(self) -> StepRecorder:
        """Return a recorder of the bare request."""
        return StepRecorder(self.step)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs with the shapes they have in this run."""
        types = {spec.name: spec.dtype for spec in self.input_specs}
        inputs = tuple(
            Tensor(name=name, shape=tuple(array.shape), dtype=types[name])
            for name, array in self._arrays.items()
        )
        return inputs, self._request.outputs()

    def notices(self) -> tuple[Notice, ...]:
        """Return what the way of asking adds to the model's own work."""
        return self._request.notices()

    def close(self) -> None:
        """Nothing: ONNX Runtime releases a session that nobody refers to."""

    def end_profiling(self) -> str:
        """Close the profile and return its file."""
        return str(self._session.end_profiling())


def _open(ort: Any, job: Job, provider: str, options: Any) -> Any:
    built_with = ort.get_available_providers()
    if provider not in built_with:
        raise UnsupportedError(
            f"{provider} is not in this ONNX Runtime",
            why=f"version {ort.__version__} was built with {', '.join(built_with)}",
            hint="install the wheel that has it, such as onnxruntime-gpu in place of onnxruntime",
        )
    own = {k: v for k, v in job.backend.options.items() if not is_session_option(k)}
    with translated(f"loading {job.subject.name}"):
        try:
            return ort.InferenceSession(
                job.subject.path, options, providers=[(provider, own)], enable_fallback=0
            )
        except RuntimeError as error:
            text = str(error).lower()
            if provider == "CPUExecutionProvider" or not any(w in text for w in _LIBRARY_WORDS):
                raise
            raise UnsupportedError(
                f"{provider} did not start",
                why="its libraries cannot be loaded; the log names them",
                hint="enginescope doctor",
            ) from error


def _spec(argument: Any) -> InputSpec:
    shape = tuple(dim if isinstance(dim, (int, str)) else None for dim in argument.shape)
    return InputSpec(
        name=argument.name, dtype=dtype_of(argument.type), shape=shape, type_text=argument.type
    )
