"""Which GPUs jobs run on."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.model.job import Job
from enginescope.probe.nvml import probe_device

#: Options by which backends are told a GPU's number; the first GPU without them.
_OPTIONS = ("device", "device_id")


def gpus_of(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return the UUIDs of the GPUs that `jobs` use, as NVML writes them; empty: none is seen."""
    found = (probe_device(index) for index in dict.fromkeys(map(_index, jobs)))
    return tuple(dict.fromkeys(one.uuid for one in found if one and one.uuid))


def _index(job: Job) -> int:
    options = job.backend.options
    named = next((options[key] for key in _OPTIONS if key in options), "0")
    return int(named) if named.isdecimal() else 0
