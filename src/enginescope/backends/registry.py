"""Backend names, found without importing any backend."""

import re
from typing import Any, cast

from enginescope.backends.base import Backend
from enginescope.core.errors import UsageError
from enginescope.core.plugins import Registry, imported, read_options
from enginescope.records.run.job import CPU_BACKEND as CPU_BACKEND
from enginescope.records.run.job import ENGINE_BACKEND as ENGINE_BACKEND
from enginescope.records.run.job import BackendSpec

#: Makers of backends, called with nothing.
BACKENDS = Registry(
    "backend",
    {
        CPU_BACKEND: "enginescope.backends.onnxruntime.backend:cpu",
        "ort-cuda": "enginescope.backends.onnxruntime.backend:cuda",
        "ort-trt": "enginescope.backends.onnxruntime.backend:tensorrt",
        "ort-trt-rtx": "enginescope.backends.onnxruntime.backend:tensorrt_rtx",
        "trtexec": "enginescope.backends.trtexec.backend:TrtexecBackend",
        "trt": "enginescope.backends.tensorrt.backend:TrtBackend",
        "trt-rtx": "enginescope.backends.tensorrt.backend:tensorrt_rtx",
        "oip": "enginescope.backends.oip.backend:OipBackend",
        "fake": "enginescope.backends.fake:FakeBackend",
    },
    unlisted=("fake", "oip"),  # one measures nothing real, the other an address, not a model
)
#: Short names: a specification of one is of the other, with these options.
SHORT_NAMES: dict[str, tuple[str, dict[str, str]]] = {"trt-rtx": ("trt", {"runtime": "rtx"})}

#: Families: ``ort:NAME``, the maker is given the name.
FAMILIES = {"ort": "enginescope.backends.onnxruntime.backend:any_provider"}
_SHOWN = tuple(name for name in BACKENDS.listed if name not in SHORT_NAMES)


def backend_names() -> tuple[str, ...]:
    """Return the names of all listed backends."""
    return tuple(sorted(BACKENDS.names()))


def load_backend(name: str) -> Backend:
    """Import and return the backend called `name`."""
    family, colon, member = name.partition(":")
    if family in FAMILIES and colon:
        return cast("Backend", imported(FAMILIES[family])(member))
    return cast("Backend", BACKENDS.call(name, BACKENDS.load(name)))


def backends_with(field: str) -> tuple[str, ...]:
    """Return the names of the built-in backends that honour a field of `Mode`."""
    return tuple(name for name in _SHOWN if field in load_backend(name).mode_fields)


def backends_that(protocol: type[Any]) -> tuple[str, ...]:
    """Return the names of the built-in backends of a protocol, such as `Answering`."""
    return tuple(name for name in _SHOWN if isinstance(load_backend(name), protocol))


def backend_of(spec: BackendSpec) -> Backend:
    """Import and return the backend of a specification, by its short name where it has one."""
    for short, (name, options) in SHORT_NAMES.items():
        if spec.name == name and options.items() <= spec.options.items():
            return load_backend(short)
    return load_backend(spec.name)


def parse_backend(text: str) -> BackendSpec:
    """Return the specification in ``NAME[:PRECISION][?KEY=VALUE&KEY=VALUE]``.

    A name may be of a family: ``ort:OpenVINOExecutionProvider:fp16``.
    """
    spec = read_spec(text)
    if spec.environment is not None:
        why = f"@{spec.environment} names another Python, and only cells of a suite run in one"
        hint = "enginescope suite, with [environments] in its file; or enginescope upgrade"
        raise UsageError(f"backend {text!r}", why=why, hint=hint)
    load_backend(spec.name).check(spec)
    return spec


def is_environment(name: str) -> bool:
    """Whether this can be the name of an environment."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


def read_spec(text: str) -> BackendSpec:
    """Return what `parse_backend` does, the backend unasked whether it knows any of it.

    ``NAME[:PRECISION]@ENVIRONMENT`` is read too.
    """
    head, _, tail = text.partition("?")
    head, at, environment = head.partition("@")
    name, colon, precision = head.partition(":")
    if name in FAMILIES and precision:
        member, colon, precision = precision.partition(":")
        name = f"{name}:{member}" if member else ""
    options = read_options(tail, f"backend {text!r}")
    if not name or (colon and not precision):
        raise UsageError(f"backend {text!r}", why="it is not NAME or NAME:PRECISION")
    if at and not is_environment(environment):
        why = f"{environment!r} after the @ is not an environment name"
        hint = "NAME[:PRECISION]@ENVIRONMENT[?KEY=VALUE], as trt:fp16@trt86"
        raise UsageError(f"backend {text!r}", why=why, hint=hint)
    name, implied = SHORT_NAMES.get(name, (name, {}))
    for key in implied.keys() & options.keys():
        raise UsageError(f"backend {text!r}", why=f"its name says {key}={implied[key]}")
    return BackendSpec(
        name=name,
        precision=precision or None,
        options={**implied, **options},
        environment=environment or None,
    )
