"""Opening a session on a provider: without fallback, with its libraries at hand.

Why a provider did not take a node: what ONNX Runtime writes to its log while it shares them out.

The log goes to standard error from C++, so the descriptor itself is turned to a file meanwhile.

A model of a newer IR version than this ONNX Runtime knows is read as one that it knows.
"""

import contextlib
import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from enginescope.backends.onnxruntime.options import fp16_way, provider_part
from enginescope.backends.onnxruntime.providers.providers import (
    CUDA_NAME,
    Provider,
    devices_of,
    did_not_start,
    library_of,
    not_built_in,
    spelled,
    translated,
)
from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError, UsageError
from enginescope.core.record import Record
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.onnx_inputs import check_model_file
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import Preparation
from enginescope.records.run.job import Job

_NEWER = re.compile(r"Unsupported model IR version: (\d+), max supported IR version: (\d+)")
#: Where ONNX Runtime looks for weights beside a model that is passed as bytes.
_FOLDER = "session.model_external_initializers_file_folder_path"
#: Larger models are not copied.
_MOST_BYTES = 1 << 30


def lowered_model(path: str, error: Exception, options: Any) -> tuple[bytes, Notice] | None:
    """Return a model with the newest IR version that the runtime reads; ``None``: not the cause.

    What else a newer version brings, such as new types, the runtime refuses itself.

    Args:
        error: What the runtime said of the model.
        options: Of the session, which is told where weights lie.
    """
    match = _NEWER.search(str(error))
    file = Path(path)
    if match is None or file.stat().st_size > _MOST_BYTES:
        return None
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    stated, newest = int(match[1]), int(match[2])
    model.ir_version = newest
    options.add_session_config_entry(_FOLDER, str(file.parent.resolve()))
    reads = f"this onnxruntime reads up to {newest}, so enginescope loads the model as {newest}"
    message = f"{file.name} has IR version {stated}; {reads}"
    notice = Notice("I-IR-LOWERED", message, {"ir_version": stated, "newest": newest})
    return model.SerializeToString(), notice


def newer_ir(what: str, text: str, version: str) -> UnsupportedError | None:
    """Return what to say of a model whose IR version is too new; ``None``: that is not the cause.

    Args:
        what: What failed.
        text: The runtime's own words.
        version: Of the runtime.
    """
    if (match := _NEWER.search(text)) is None:
        return None
    why = f"its IR version is {match[1]}; onnxruntime {version} reads up to {match[2]}"
    hint = f"a newer onnxruntime, or save the model with ir_version = {match[2]}"
    return UnsupportedError(what, why=why, hint=hint)


#: What ONNX Runtime says, in one wording or another, when a provider's libraries do not load.
_LIBRARY_WORDS = ("please install", "failed to load", "shared object", "failed to create")
#: … when a file cannot be parsed.
_NO_MODEL_WORDS = ("Protobuf parsing failed", "No graph was found", "does not have a graph")
#: … when a model cannot be captured.
_GRAPH_WORDS = ("graph capture", "cuda graph")


class Setup(Record, frozen=True, kw_only=True):
    """What a session is opened with.

    Attributes:
        model: The file that is loaded.
        provider_options: The user's, those of the precision and of the mode, and those of the
            caches.
        leftover: Providers that take what is left, in order; the CPU needs no mention.
        plugin: Library given for the provider.
    """

    model: str
    provider: Provider
    provider_options: dict[str, str]
    leftover: tuple[str, ...] = ()
    plugin: str | None = None


def setup_of(ort: Any, job: Job, provider: Provider, prepared: Preparation | None) -> Setup:
    """Return what the session of `job` is opened with."""
    spec, mode = job.backend, job.workload.mode
    own: dict[str, str] = {}
    if prepared is not None:
        own |= prepared.provider_options
    if fp16_way(spec, provider) == "switch":
        own |= provider.switches[spec.precision or ""]
    if provider.graph_option and mode.cuda_graph is not None:
        own[provider.graph_option] = "1" if mode.cuda_graph else "0"
    return Setup(
        model=prepared.model if prepared else job.subject.path or "",
        provider=provider,
        provider_options={**own, **provider_part(spec.options)},
        leftover=_leftover(ort, job, provider),
        plugin=spec.options.get("plugin"),
    )


def _leftover(ort: Any, job: Job, provider: Provider) -> tuple[str, ...]:
    """CUDA takes what another provider on its memory leaves, unless it is told not to."""
    wanted = job.backend.options.get("leftover")
    if provider.name == CUDA_NAME or wanted == "cpu" or (wanted is None and not provider.on_cuda):
        return ()
    there = CUDA_NAME in ort.get_available_providers()
    if wanted == "cuda" and not there:
        why = "this ONNX Runtime was built without CUDA"
        raise UnsupportedError(f"{provider.name} with leftover=cuda", why=why, hint="leftover=cpu")
    return (CUDA_NAME,) if there else ()


def open_session(ort: Any, setup: Setup, options: Any, notices: list[Notice] | None = None) -> Any:
    """Return ONNX Runtime's session.

    Args:
        notices: Takes what there is to say of the model.
    """
    provider = setup.provider
    name = Path(setup.model).name
    if provider.on_cuda:
        preload(ort)
    if not _is_built_in(ort, setup):
        with translated(f"loading {name}"):
            add_provider(ort, setup, options)
            return ort.InferenceSession(setup.model, options)
    device = {k: v for k, v in setup.provider_options.items() if k == "device_id"}
    others = [(one, device if one == CUDA_NAME else {}) for one in setup.leftover]
    providers = [(provider.name, _spelled(setup)), *others]

    def opened(model: str | bytes) -> Any:
        return ort.InferenceSession(model, options, providers=providers, enable_fallback=0)

    with translated(f"loading {name}"):
        try:
            return opened(setup.model)
        except Exception as error:  # its exceptions have no common base of their own
            if (lowered := lowered_model(setup.model, error, options)) is not None:
                model, notice = lowered
                if notices is not None:
                    notices.append(notice)
                try:
                    return opened(model)
                except Exception:  # noqa: BLE001 - the same
                    known = newer_ir(f"loading {name}", str(error), ort.__version__)
                    assert known is not None
                    raise known from error
            raise_if_unsupported(ort, provider, error)
            raise_if_no_model(setup.model, error)
            raise


def raise_if_no_model(path: str, error: Exception) -> None:
    """Raise `BackendError` with a next step if `error` says that a file holds no model."""
    if not any(words in str(error) for words in _NO_MODEL_WORDS):
        return
    file = Path(path)
    try:
        check_model_file(file)
        why = f"its {format_bytes(file.stat().st_size)} are not a valid ONNX model (truncated?)"
        hint = "export or fetch it again: the file may be cut off"
    except UsageError as known:
        why, hint = known.why or "", known.hint or ""
    except OSError:  # gone meanwhile
        return
    raise BackendError(f"loading {file.name}", why=why, hint=hint) from error


def raise_if_unsupported(ort: Any, provider: Provider, error: Exception) -> None:
    """Raise `UnsupportedError` if `error` says that provider or mode cannot be had here."""
    text = str(error).lower()
    if any(words in text for words in _GRAPH_WORDS):
        what, hint = "the model cannot be captured as a CUDA graph", "remove --graph"
        raise UnsupportedError(what, why=str(error).splitlines()[0], hint=hint) from error
    is_of_library = isinstance(error, RuntimeError)
    if is_of_library and not provider.is_cpu and any(words in text for words in _LIBRARY_WORDS):
        raise did_not_start(ort, provider) from error


def add_provider(ort: Any, setup: Setup, options: Any) -> None:
    """Add the provider of `setup` to session options, without those that take the leftover."""
    provider = setup.provider
    if _is_built_in(ort, setup):
        options.add_provider(provider.name, _spelled(setup))
        return
    if (library := library_of(provider, setup.plugin)) is None:
        raise not_built_in(ort, provider)
    devices = devices_of(ort, provider, library)
    index = int(setup.provider_options.get("device_id", "0"))
    if not 0 <= index < len(devices):
        what = f"{provider.name}: device_id={index}"
        raise UnsupportedError(what, why=f"it finds {len(devices)} here, from 0")
    own = {k: v for k, v in setup.provider_options.items() if k != "device_id"}
    options.add_provider_for_devices([devices[index]], own)


def _is_built_in(ort: Any, setup: Setup) -> bool:
    return setup.plugin is None and setup.provider.name in ort.get_available_providers()


def _spelled(setup: Setup) -> dict[str, str]:
    told, provider = setup.provider_options, setup.provider
    return spelled(told, provider.options) if provider.spells_switches else told


def preload(ort: Any) -> None:
    """Load what wheels of CUDA, cuDNN and TensorRT hold, where the loader does not look for it."""
    cuda = getattr(ort, "preload_dlls", None)  # from 1.21 on
    if cuda is not None and find_spec("nvidia") is not None:
        cuda()
    found = find_spec("tensorrt_libs")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for file in sorted(Path(folder).glob("libnv*.so.*")):
            with contextlib.suppress(OSError):  # another TensorRT than this build wants
                ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)


_INFO, _USUAL = 1, 2
_NO_KERNEL = re.compile(r"kernel not found in registries for Op type: (\S+)")
_CHEAPER = re.compile(r"Force fallback to CPU execution for node: (\S+)")
_NOT_IMPORTED = re.compile(r"No importer registered for op: (\w+)")
#: TensorRT's parser on a node: operator, code, what is wrong with it.
_PARSER = re.compile(r"operator: (\w+)[^\n]*?(?:UNSUPPORTED_NODE|INVALID_NODE)[A-Z_]*: ([^\n]+)")


def reasons_of(ort: Any, setup: Setup, options: Any, names: dict[str, str]) -> dict[str, str]:
    """Open a session with its log on, drop it, and return reasons by operator.

    Args:
        names: Node -> operator, for lines that name a node alone.
    """
    options.log_severity_level = _INFO
    with _log_of(ort) as log:
        try:
            open_session(ort, setup, options)
        except (EnginescopeError, MemoryError):  # the session that counts was opened before
            return {}
        finally:
            sys.stderr.flush()
        log.seek(0)
        text = log.read().decode("utf-8", "replace")
    return parse_reasons(text, names, setup.provider.name)


def parse_reasons(text: str, names: dict[str, str], provider: str) -> dict[str, str]:
    """Return the reasons that a log gives, by operator; the first that is given stands."""
    found: dict[str, str] = {}
    for match in _NO_KERNEL.finditer(text):
        found.setdefault(match[1], f"{provider} has no kernel for it with these types")
    for match in _NOT_IMPORTED.finditer(text):
        found.setdefault(match[1], "TensorRT's parser does not know it")
    for match in _PARSER.finditer(text):
        found.setdefault(match[1], f"TensorRT's parser: {match[2].strip()}")
    for match in _CHEAPER.finditer(text):
        if (operator := names.get(match[1])) is not None:
            found.setdefault(
                operator, "on shapes, not on data: ONNX Runtime deems the CPU cheaper than copying"
            )
    return found


@contextlib.contextmanager
def _log_of(ort: Any) -> Iterator[IO[bytes]]:
    """Turn standard error to a file, and ONNX Runtime's own log on."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        ort.set_default_logger_severity(_INFO)
        try:
            yield log
        finally:
            ort.set_default_logger_severity(_USUAL)
            os.dup2(kept, 2)
            os.close(kept)
