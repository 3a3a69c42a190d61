"""One ONNX Runtime session, driven one request at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

from enginescope.backends.base import Arrays, InputSpec
from enginescope.backends.loop import Step
from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.options import is_session_option, session_options
from enginescope.backends.onnxruntime.placement import (
    read_placement,
    request_assignment,
    require_provider,
)
from enginescope.backends.onnxruntime.types import dtype_of
from enginescope.core.errors import UnsupportedError
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.tensor import DataType, Tensor


class OrtSession:
    """A session whose inputs and outputs are bound once, in host memory.

    A step is the full round trip: whatever copies the provider needs are inside it.
    """

    def __init__(
        self, ort: Any, job: Job, provider: str, *, profile_prefix: str | None = None
    ) -> None:
        self._ort = ort
        options = session_options(ort, job.backend.options)
        request_assignment(options)
        if profile_prefix is not None:
            options.enable_profiling = True
            options.profile_file_prefix = profile_prefix
        self._session = _open(ort, job, provider, options)
        self.placement = read_placement(self._session)
        require_provider(self._session, provider, self.placement)
        self.providers: tuple[str, ...] = tuple(self._session.get_providers())
        self.input_specs = tuple(_spec(one) for one in self._session.get_inputs())
        self._output_names = [one.name for one in self._session.get_outputs()]
        self._output_types = [dtype_of(one.type) for one in self._session.get_outputs()]
        self._binding: Any = None
        self._unbound: tuple[str, ...] = ()
        self.step: Step = self._guarded

    def bind(self, arrays: Arrays) -> None:
        """Copy the inputs into bound values; let the first run allocate the outputs."""
        self._arrays = arrays
        with translated("binding the inputs"):
            self._binding = self._session.io_binding()
            self._values = {
                name: _host_value(self._ort, array, self._spec_of(name).dtype)
                for name, array in arrays.items()
            }
            for name, value in self._values.items():
                self._binding.bind_ortvalue_input(name, value)
            for name in self._output_names:
                self._binding.bind_output(name, "cpu")

    def settle(self) -> None:
        """Bind outputs of the shape the first run gave, so that no further run allocates."""
        unbound = []
        with translated("binding the outputs"):
            for name, dtype, value in zip(
                self._output_names, self._output_types, self._binding.get_outputs(), strict=True
            ):
                if dtype in (None, DataType.STRING) or not value.is_tensor():
                    unbound.append(name)
                else:
                    self._binding.bind_ortvalue_output(name, value)
        self._unbound = tuple(unbound)
        self.step = partial(self._session.run_with_iobinding, self._binding)

    def _guarded(self) -> None:
        """Step before `settle`: as the bare one, with errors in our words."""
        with translated("the first inference"):
            self._session.run_with_iobinding(self._binding)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs with the shapes they have in this run."""
        inputs = tuple(
            Tensor(name=name, shape=tuple(array.shape), dtype=self._spec_of(name).dtype)
            for name, array in self._arrays.items()
        )
        outputs = tuple(
            Tensor(name=name, shape=_shape(value), dtype=dtype)
            for name, dtype, value in zip(
                self._output_names, self._output_types, self._binding.get_outputs(), strict=True
            )
        )
        return inputs, outputs

    def notices(self) -> tuple[Notice, ...]:
        """Say which outputs are allocated anew in every run."""
        if not self._unbound:
            return ()
        names = ", ".join(self._unbound)
        return (
            Notice(
                code="I-OUTPUT-ALLOCATED",
                message=f"Outputs that are not plain tensors are allocated in every run: {names}.",
                evidence={"outputs": list(self._unbound)},
                level="info",
            ),
        )

    def end_profiling(self) -> str:
        """Close the profile and return its file."""
        return str(self._session.end_profiling())

    def _spec_of(self, name: str) -> InputSpec:
        return next(one for one in self.input_specs if one.name == name)


def _open(ort: Any, job: Job, provider: str, options: Any) -> Any:
    if provider not in ort.get_available_providers():
        raise UnsupportedError(
            f"{provider} is not in this ONNX Runtime",
            why=f"version {ort.__version__} was built with "
            + ", ".join(ort.get_available_providers()),
            hint="install the wheel that has it, such as onnxruntime-gpu in place of onnxruntime",
        )
    own = {k: v for k, v in job.backend.options.items() if not is_session_option(k)}
    with translated(f"loading {job.subject.name}"):
        try:
            return ort.InferenceSession(
                job.subject.path, options, providers=[(provider, own)], enable_fallback=0
            )
        except RuntimeError as error:
            # without fallback, a provider whose libraries are missing ends up here
            if provider == "CPUExecutionProvider" or provider.split("Exec")[0] not in str(error):
                raise
            raise UnsupportedError(
                f"{provider} did not start",
                why=str(error).strip().splitlines()[0],
                hint="its libraries are missing or do not match this build: enginescope doctor",
            ) from error


def _spec(argument: Any) -> InputSpec:
    shape = tuple(dim if isinstance(dim, (int, str)) else None for dim in argument.shape)
    return InputSpec(
        name=argument.name, dtype=dtype_of(argument.type), shape=shape, type_text=argument.type
    )


def _host_value(ort: Any, array: Any, dtype: DataType | None) -> Any:
    if dtype is DataType.BF16 and array.dtype.kind == "u":  # NumPy has no such type: raw bits
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, 16)
    return ort.OrtValue.ortvalue_from_numpy(array)


def _shape(value: Any) -> tuple[int, ...] | None:
    return tuple(value.shape()) if value.is_tensor() else None
