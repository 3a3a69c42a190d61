"""How warm GPUs are."""

from __future__ import annotations

from enginescope.probe.nvml import answer_of, opened_nvml


def gpu_temperature_c(gpu: str) -> float | None:
    """Return a GPU's temperature in degrees Celsius, by its UUID; ``None`` if it does not tell."""
    with opened_nvml() as nvml:
        if nvml is None:
            return None
        handle = answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, gpu)
        if handle is None:
            return None
        found = answer_of(nvml, nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU)
        return None if found is None else float(found)
