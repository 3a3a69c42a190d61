"""Execution providers of ONNX Runtime: names, wheels, switches, and why one is missing.

Providers that are libraries of their own: found in their wheels, registered, asked.

An option that is not in the tables is handed on, with a notice: a newer ONNX Runtime may know it.

ONNX Runtime's exceptions, in our words.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias

from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError, UsageError
from enginescope.core.optional import versions_of
from enginescope.core.record import Record
from enginescope.core.suggest import closest, did_you_mean
from enginescope.records.run.job import CPU_BACKEND

Kind: TypeAlias = Literal["switch", "number", "text"] | tuple[str, ...]

_SWITCH = {"0", "1", "true", "false"}
_NUMBER = re.compile(r"^-?\d+$")


def _table(*, switches: str, numbers: str, texts: str = "", **choices: Kind) -> Mapping[str, Kind]:
    """Return options by name: those of each kind, and those that have words of their own."""
    kinds: dict[Kind, str] = {"switch": switches, "number": numbers, "text": texts}
    return {name: kind for kind, names in kinds.items() for name in names.split()} | choices


CUDA_OPTIONS = _table(
    switches="""
        do_copy_in_default_stream cudnn_conv_use_max_workspace enable_cuda_graph
        cudnn_conv1d_pad_to_nc1d enable_cudnn tunable_op_enable tunable_op_tuning_enable
        enable_skip_layer_norm_strict_mode prefer_nhwc use_ep_level_unified_stream use_tf32
        fuse_conv_bias
    """,
    numbers="device_id gpu_mem_limit tunable_op_max_tuning_duration_ms sdpa_kernel",
    arena_extend_strategy=("kNextPowerOfTwo", "kSameAsRequested"),
    cudnn_conv_algo_search=("EXHAUSTIVE", "HEURISTIC", "DEFAULT"),
)

TENSORRT_OPTIONS = _table(
    switches="""
        trt_fp16_enable trt_bf16_enable trt_int8_enable trt_int8_use_native_calibration_table
        trt_dla_enable trt_dump_subgraphs trt_engine_cache_enable trt_weight_stripped_engine_enable
        trt_engine_decryption_enable trt_force_sequential_engine_build
        trt_context_memory_sharing_enable trt_layer_norm_fp32_fallback trt_timing_cache_enable
        trt_force_timing_cache trt_force_timing_cache_match trt_detailed_build_log
        trt_build_heuristics_enable trt_sparsity_enable trt_cuda_graph_enable
        trt_dump_ep_context_model trt_engine_hw_compatible trt_load_user_initializer
    """,
    numbers="""
        device_id trt_max_partition_iterations trt_min_subgraph_size trt_max_workspace_size
        trt_dla_core trt_auxiliary_streams trt_ep_context_embed_mode
    """,
    texts="""
        trt_int8_calibration_table_name trt_engine_cache_path trt_engine_cache_prefix
        trt_onnx_model_folder_path trt_engine_decryption_lib_path trt_timing_cache_path
        trt_tactic_sources trt_extra_plugin_lib_paths trt_profile_min_shapes trt_profile_max_shapes
        trt_profile_opt_shapes trt_ep_context_file_path trt_op_types_to_exclude trt_preview_features
    """,
    trt_builder_optimization_level=("0", "1", "2", "3", "4", "5"),
)

RTX_OPTIONS = _table(
    switches="""
        nv_dump_subgraphs nv_detailed_build_log enable_cuda_graph nv_multi_profile_enable
        nv_use_external_data_initializer
    """,
    numbers="device_id nv_max_workspace_size nv_max_shared_mem_size",
    texts="nv_profile_min_shapes nv_profile_max_shapes nv_profile_opt_shapes nv_runtime_cache_path",
)

#: Addresses in a process's memory: nobody outside it has one.
_STREAMS = frozenset({"has_user_compute_stream", "user_compute_stream", "user_aux_stream_array"})


def check_value(backend: str, key: str, value: str, known: Mapping[str, Kind]) -> None:
    """Raise `UsageError` for a value that a known option cannot have."""
    if key in _STREAMS:
        what = f"{backend}: {key}"
        why = "a stream is an address in another process; each job has its own process"
        raise UsageError(what, why=why, hint="omit it: the provider creates its stream")
    kind = known.get(key)
    what = f"{backend}: {key}={value}"
    if kind == "switch" and value.lower() not in _SWITCH:
        raise UsageError(what, hint="0 or 1")
    if kind == "number" and not _NUMBER.match(value):
        raise UsageError(what, why="not a whole number")
    if isinstance(kind, tuple) and value not in kind:
        raise UsageError(what, hint=did_you_mean(value, kind))


def spelled(options: Mapping[str, str], known: Mapping[str, Kind]) -> dict[str, str]:
    """Return the options with their switches as ``True`` and ``False``."""
    words = {"0": "False", "false": "False", "1": "True", "true": "True"}
    return {
        key: words.get(value.lower(), value) if known.get(key) == "switch" else value
        for key, value in options.items()
    }


def unknown(options: Mapping[str, str], known: Mapping[str, Kind]) -> dict[str, str | None]:
    """Return the options that are in no table, each with a known one that is called alike."""
    return {key: closest(key, known) for key in options if key not in known}


CPU_NAME = "CPUExecutionProvider"
CUDA_NAME = "CUDAExecutionProvider"

#: provider -> the wheel that has it, where it is not onnxruntime's own.
_WHEELS = {
    "OpenVINOExecutionProvider": "onnxruntime-openvino",
    "DmlExecutionProvider": "onnxruntime-directml",
    "QNNExecutionProvider": "onnxruntime-qnn",
    "MIGraphXExecutionProvider": "onnxruntime-migraphx",
    "ROCMExecutionProvider": "onnxruntime-rocm",
}


class Provider(Record, frozen=True, kw_only=True):
    """An execution provider.

    Attributes:
        backend: What it is called here: ``ort-cuda``.
        name: ONNX Runtime's name for it.
        install: The wheel that has it.
        plugin: It is a library of its own, registered with the plain wheel.
        switches: Precision -> options that make it compute so by itself; others are converted to.
        graph_option: Switches CUDA graphs.
        cache_options: What makes it keep engines: ``{folder}`` stands for the place. Empty: it
            builds none.
        options: Its known options; empty where none are known.
        spells_switches: It reads ``True`` and ``False`` alone, in some versions, where others take
            1 and 0 too.
        on_cuda: Its tensors may lie in CUDA's memory.
    """

    backend: str
    name: str
    install: str = "enginescope[ort]"
    plugin: bool = False
    switches: Mapping[str, Mapping[str, str]] = {}
    graph_option: str | None = None
    cache_options: Mapping[str, str] = {}
    options: Mapping[str, Kind] = {}
    spells_switches: bool = False
    on_cuda: bool = False

    @property
    def is_cpu(self) -> bool:
        """Whether it is the provider that is in every build."""
        return self.name == CPU_NAME


CPU = Provider(backend=CPU_BACKEND, name=CPU_NAME)
CUDA = Provider(
    backend="ort-cuda",
    name=CUDA_NAME,
    install="onnxruntime-gpu",
    graph_option="enable_cuda_graph",
    options=CUDA_OPTIONS,
    on_cuda=True,
)
TENSORRT = Provider(
    backend="ort-trt",
    name="TensorrtExecutionProvider",
    install="onnxruntime-gpu",
    switches={
        "fp16": {"trt_fp16_enable": "1"},
        "bf16": {"trt_bf16_enable": "1"},
        "int8": {"trt_int8_enable": "1"},
    },
    graph_option="trt_cuda_graph_enable",
    cache_options={"trt_engine_cache_enable": "1", "trt_engine_cache_path": "{folder}"},
    options=TENSORRT_OPTIONS,
    spells_switches=True,
    on_cuda=True,
)
TENSORRT_RTX = Provider(
    backend="ort-trt-rtx",
    name="NvTensorRTRTXExecutionProvider",
    install="onnxruntime-ep-nv-tensorrt-rtx",
    plugin=True,
    graph_option="enable_cuda_graph",
    cache_options={"nv_runtime_cache_path": "{folder}"},
    options=RTX_OPTIONS,
    on_cuda=True,
)
NAMED = {one.name: one for one in (CPU, CUDA, TENSORRT, TENSORRT_RTX)}


def provider_called(name: str) -> Provider:
    """Return the provider of that name: a known one, or what can be said of it."""
    install = _WHEELS.get(name, "a wheel that has it")
    return NAMED.get(name) or Provider(backend=f"ort:{name}", name=name, install=install)


#: Registered once in a process: a second registration is refused.
_registered: dict[str, str] = {}


def library_of(provider: Provider, given: str | None) -> str | None:
    """Return the library that has `provider`: `given`, or one of an installed wheel."""
    if given is not None:
        path = Path(given).expanduser()
        if not path.is_file():
            why = "it is a folder" if path.is_dir() else "no such file"
            raise UsageError(f"{provider.backend}: plugin={given}", why=why)
        return str(path.resolve())
    modules = {one for one in map(_module_of, metadata.distributions()) if one is not None}
    for module in sorted(modules):
        try:
            wheel = import_module(module)
            many = getattr(wheel, "get_ep_names", None)
            if provider.name in (many() if many else (wheel.get_ep_name(),)):
                return str(wheel.get_library_path())
        except (ImportError, AttributeError, OSError):
            continue  # a wheel of another kind, or one whose own libraries are missing
    return None


def devices_of(ort: Any, provider: Provider, library: str) -> list[Any]:
    """Register a library and return the devices on which it offers `provider`."""
    register = getattr(ort, "register_execution_provider_library", None)
    if register is None:
        what = f"{provider.name} cannot be added to this ONNX Runtime"
        why = f"version {ort.__version__} takes no provider libraries"
        raise UnsupportedError(what, why=why, hint="pip install 'onnxruntime>=1.24'")
    if _registered.get(library) is None:
        try:
            register(provider.name, library)
        except Exception as error:  # its exceptions have no common base
            what, why = f"{provider.name} did not start", f"{library}: {error}"
            raise UnsupportedError(what, why=why) from error
        _registered[library] = provider.name
    every = list(ort.get_ep_devices())
    devices = [one for one in every if one.ep_name == provider.name]
    if not devices:
        offered = ", ".join(sorted({one.ep_name for one in every}))
        why = f"{Path(library).name} is registered; devices are there for: {offered or 'none'}"
        why = "; ".join((why, *incompatibilities(ort, provider.name)))
        raise UnsupportedError(f"{provider.name} finds no device here", why=why)
    return devices


def incompatibilities(ort: Any, name: str) -> tuple[str, ...]:
    """Return why a registered provider takes none of the machine's devices, a text for each.

    Empty where this ONNX Runtime cannot be asked, or the provider states no reason.
    """
    native = getattr(getattr(ort, "capi", None), "_pybind_state", None)
    ask = getattr(native, "get_hardware_device_ep_incompatibility_details", None)
    if native is None or ask is None:
        return ()
    members = native.OrtDeviceEpIncompatibilityReason.__members__
    texts = []
    for device in native.get_hardware_devices():
        details: Any = {"reasons_bitmask": 0, "notes": None}
        with suppress(Exception):  # no factory for the provider: no common base of exceptions
            details = ask(name, device)
        mask = details["reasons_bitmask"] & 0xFFFFFFFF
        bits = {key: int(one.value) & 0xFFFFFFFF for key, one in members.items()}
        named = [key.lower().replace("_", " ") for key, bit in bits.items() if bit and mask & bit]
        notes = f" ({details['notes']})" if details["notes"] else ""
        if named:
            texts.append(f"{device.type.name} of {device.vendor}: {', '.join(named)}{notes}")
    return tuple(dict.fromkeys(texts))


def _module_of(distribution: metadata.Distribution) -> str | None:
    name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
    if not name.startswith("onnxruntime-ep-"):
        return None
    for variant in ("-cu12", "-cu13"):
        name = name.removesuffix(variant)
    return name.replace("-", "_")


#: All wheels of ONNX Runtime install the one package `onnxruntime`; the last one wins.
_WHEEL_PACKAGES = ("onnxruntime", "onnxruntime-gpu", *_WHEELS.values())
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
    return tuple(versions_of(*_WHEEL_PACKAGES))


def not_built_in(ort: Any, provider: Provider) -> UnsupportedError:
    """Return the error that says which wheel has the provider."""
    built_in = ort.get_available_providers()
    low = provider.name.lower()  # it may differ in capitals alone, or be the first part
    alike = (low, f"{low}executionprovider")
    meant = next((one for one in built_in if one.lower() in alike), None)
    why = f"version {ort.__version__} was built with {', '.join(built_in)}"
    hint = f"did you mean ort:{meant}?" if meant else wheel_hint(provider)
    return UnsupportedError(f"{provider.name} is not in this ONNX Runtime", why=why, hint=hint)


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
    why, hint = said or "its libraries are there; the log may name the cause", "enginescope doctor"
    if library is not None:
        why, hint = f"library {library} is missing", library_hint(library, _cuda_of(ort))
    return UnsupportedError(f"{provider.name} did not start", why=why, hint=hint)


def missing_library(ort: Any, provider: Provider) -> str | None:
    """Return the library that the provider's own cannot be loaded without; ``None``: none."""
    stem = provider.name.removesuffix("ExecutionProvider").lower()
    folder = Path(getattr(ort, "__file__", None) or "").parent / "capi"
    own = folder / f"libonnxruntime_providers_{stem}.so"
    if not own.is_file():
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
            return f"{command.format(cuda=cuda or 13)}, or add its folder to LD_LIBRARY_PATH"
    return f"install {library}, or add its folder to LD_LIBRARY_PATH"


def library_hint_for(ort: Any, failure: str) -> str:
    """Return what to install for what a provider's start said."""
    if (named := _NAMED.match(failure)) is None:
        return "the libraries it was built for: onnxruntime.print_debug_info() names them"
    return library_hint(named[1], _cuda_of(ort))


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
        hint = "a newer onnxruntime, or export the model at a lower opset"
        return UnsupportedError(what, why=message, hint=hint)
    if match and match[1] in _UNSUPPORTED_CODES:
        return UnsupportedError(what, why=message)
    return BackendError(what, why=message)
