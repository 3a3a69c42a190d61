"""Why a provider is not there, and what to do about it.

ONNX Runtime's exceptions, in our words.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError

#: All wheels of ONNX Runtime install the one package `onnxruntime`; the last one wins.
_WHEELS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
    "onnxruntime-qnn",
    "onnxruntime-migraphx",
    "onnxruntime-rocm",
)
_MISSING = re.compile(r"(\S+\.(?:so[.\d]*|dll|dylib)): cannot open shared object file")
_NAMED = re.compile(r"library (\S+) is missing")
#: library -> what has it
_SOURCES = (
    (re.compile(r"libnvinfer|libnvonnxparser"), "pip install 'tensorrt-cu{cuda}<11'"),
    (re.compile(r"libcudnn"), "pip install 'onnxruntime-gpu[cuda,cudnn]'"),
    (re.compile(r"libcu|libnv"), "pip install 'onnxruntime-gpu[cuda]'"),
)


def installed_wheels() -> tuple[str, ...]:
    """Return the wheels of ONNX Runtime that are installed here."""
    found = []
    for name in _WHEELS:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found.append(name)
    return tuple(found)


def not_built_in(ort: Any, provider: Provider) -> UnsupportedError:
    """Return the error that says which wheel has the provider."""
    built_in = ort.get_available_providers()
    meant = _meant(provider.name, built_in)
    return UnsupportedError(
        f"{provider.name} is not in this ONNX Runtime",
        why=f"version {ort.__version__} was built with {', '.join(built_in)}",
        hint=f"did you mean ort:{meant}?" if meant else wheel_hint(provider),
    )


def _meant(name: str, built_in: Iterable[str]) -> str | None:
    """Return the provider of which `name` is the name but for capitals, or its first part."""
    low = name.lower()
    alike = (low, f"{low}executionprovider")
    return next((one for one in built_in if one.lower() in alike), None)


def wheel_hint(provider: Provider) -> str:
    """Return how to get a build that has the provider."""
    if provider.plugin:
        return f"pip install 'onnxruntime>=1.24' {provider.install}"
    if not provider.install.startswith("onnxruntime"):
        return f"{provider.install}, or plugin=LIBRARY for a provider in a separate library"
    others = [one for one in installed_wheels() if one != provider.install]
    if provider.install in installed_wheels() and others:
        both = " and ".join((provider.install, *others))
        return (
            f"{both} are both installed into one package and the last one wins: "
            f"pip uninstall -y {' '.join((provider.install, *others))}; "
            f"pip install {provider.install}"
        )
    removing = f"pip uninstall -y {' '.join(others)}; " if others else ""
    why = ": the wheels share one package, so only one of them can be installed" if others else ""
    return f"{removing}pip install {provider.install}{why}"


def did_not_start(ort: Any, provider: Provider, said: str | None = None) -> UnsupportedError:
    """Return the error that names the library a provider misses, where the message says it."""
    library = missing_library(ort, provider)
    if library is None:
        return UnsupportedError(
            f"{provider.name} did not start",
            why=said or "its libraries are there; the log may name the cause",
            hint="enginescope doctor",
        )
    return UnsupportedError(
        f"{provider.name} did not start",
        why=f"library {library} is missing",
        hint=library_hint(library, _cuda_of(ort)),
    )


def missing_library(ort: Any, provider: Provider) -> str | None:
    """Return the library that the provider's own cannot be loaded without; ``None``: none."""
    own = _library_file(ort, provider)
    if own is None:
        return None
    try:
        ctypes.CDLL(str(own))
    except OSError as error:
        found = _MISSING.search(str(error))
        return found[1] if found else None
    return None


def library_hint(library: str, cuda: int | None) -> str:
    for pattern, command in _SOURCES:
        if pattern.search(library):
            made = command.format(cuda=cuda or 13)
            return f"{made}, or add its folder to LD_LIBRARY_PATH"
    return f"install {library}, or add its folder to LD_LIBRARY_PATH"


def library_hint_for(ort: Any, failure: str) -> str:
    """Return what to install for what a provider's start said."""
    named = _NAMED.match(failure)
    if named is None:
        return "the libraries it was built for: onnxruntime.print_debug_info() names them"
    return library_hint(named[1], _cuda_of(ort))


def _library_file(ort: Any, provider: Provider) -> Path | None:
    stem = provider.name.removesuffix("ExecutionProvider").lower()
    folder = Path(getattr(ort, "__file__", None) or "").parent / "capi"
    own = folder / f"libonnxruntime_providers_{stem}.so"
    return own if own.is_file() else None


def _cuda_of(ort: Any) -> int | None:
    """Return the major version of CUDA that the wheel was built for."""
    said = str(getattr(ort, "cuda_version", "") or "")
    return int(said.split(".")[0]) if said.split(".")[0].isdecimal() else None


_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
#: Where in its own source the runtime raised: of no use to a reader.
_SOURCE = re.compile(r"^(/\S+\.(?:cc|h):\d+ .*?\)(?: const)? (?=[A-Z])|/\S+\.(?:cc|h):\d+ )")
_MEMORY_WORDS = ("bad_alloc", "Failed to allocate memory", "out of memory", "OutOfMemory")
_UNSUPPORTED_CODES = frozenset({"NOT_IMPLEMENTED", "EP_FAIL"})
_VERSION = re.compile(r"(Unsupported model IR version|opset \d+ is under development|Opset \d+ )")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn what ONNX Runtime raises in this block into a `BackendError` about `what`.

    Raises:
        UnsupportedError: The model needs an operator, IR version or opset that this build does not
            have.
        MemoryError: An allocation failed.
        BackendError: Anything else.
    """
    try:
        yield
    except (EnginescopeError, MemoryError):
        raise
    except Exception as error:  # its exceptions have no common base of their own
        raise _translate(what, error) from error


def _translate(what: str, error: Exception) -> BaseException:
    text = str(error)
    if any(words in text for words in _MEMORY_WORDS):
        return MemoryError(text)
    match = _CODE.match(text)
    message = _SOURCE.sub("", _CODE.sub("", text).strip())
    if _VERSION.search(text):
        return UnsupportedError(
            what, why=message, hint="a newer onnxruntime, or export the model at a lower opset"
        )
    if match and match[1] in _UNSUPPORTED_CODES:
        return UnsupportedError(what, why=message)
    return BackendError(what, why=message)
