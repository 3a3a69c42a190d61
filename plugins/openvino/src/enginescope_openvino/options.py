"""Options of the backend ``openvino``, and the properties of OpenVINO that they set."""

from __future__ import annotations

import re
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.job import BackendSpec, Job

#: Precision -> OpenVINO's hint for it.
PRECISIONS = {"fp32": "f32", "fp16": "f16", "bf16": "bf16"}
#: Options that are no property of OpenVINO: the device, and the folder of compiled models.
DEVICE, CACHE = "device", "cache_dir"
#: Option -> OpenVINO's property.
PROPERTIES = {
    "num_streams": "NUM_STREAMS",
    "inference_num_threads": "INFERENCE_NUM_THREADS",
    "enable_cpu_pinning": "ENABLE_CPU_PINNING",
    "enable_hyper_threading": "ENABLE_HYPER_THREADING",
    "scheduling_core_type": "SCHEDULING_CORE_TYPE",
    "execution_mode_hint": "EXECUTION_MODE_HINT",
    "dynamic_quantization_group_size": "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    CACHE: "CACHE_DIR",
}
OPTIONS = (DEVICE, *PROPERTIES)
#: A property of OpenVINO by its own name.
_OWN_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


def check_spec(spec: BackendSpec) -> None:
    """Raise `UsageError` at a precision or option that OpenVINO does not have."""
    if spec.precision is not None and spec.precision not in PRECISIONS:
        raise UsageError(
            f"openvino has no precision {spec.precision!r}",
            hint=did_you_mean(spec.precision, tuple(PRECISIONS)),
        )
    for name in spec.options:
        if name not in OPTIONS and not _OWN_NAME.fullmatch(name):
            raise UsageError(
                f"openvino has no option {name!r}",
                why="neither an option nor the name of a property in capitals",
                hint=did_you_mean(name, OPTIONS),
            )


def device_of(spec: BackendSpec) -> str:
    """Return OpenVINO's name of the device."""
    return spec.options.get(DEVICE, "CPU").upper()


def spec_properties(spec: BackendSpec) -> dict[str, str]:
    """Return the properties that a backend's precision and options set."""
    made = {PROPERTIES.get(name, name): value for name, value in spec.options.items()}
    made.pop(DEVICE, None)
    if spec.precision is not None:
        made.setdefault("INFERENCE_PRECISION_HINT", PRECISIONS[spec.precision])
    return made


def properties_of(job: Job, *, is_throughput: bool) -> dict[str, Any]:
    """Return what a model is compiled with."""
    made: dict[str, Any] = {"PERFORMANCE_HINT": "THROUGHPUT" if is_throughput else "LATENCY"}
    if is_throughput and job.workload.mode.in_flight is not None:
        made["PERFORMANCE_HINT_NUM_REQUESTS"] = job.workload.mode.in_flight
    if job.conditions.pinned_cores:
        made["INFERENCE_NUM_THREADS"] = len(job.conditions.pinned_cores)
    return made | spec_properties(job.backend)
