"""Which GPUs jobs run on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from enginescope.probe.nvml import probe_device
from enginescope.records.run.job import Job

#: Options by which backends are told a GPU's number; the first GPU without them.
_OPTIONS = ("device", "device_id")
#: How trtexec is told, among the arguments that are handed through.
_FLAG = re.compile(r"(?:^|\s)--device=(\d+)\b")


def gpus_of(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return the UUIDs of the GPUs that `jobs` use, as NVML writes them; empty: none is seen."""
    found = (probe_device(index) for index in dict.fromkeys(map(_index, jobs)))
    return tuple(dict.fromkeys(one.uuid for one in found if one and one.uuid))


def gpu_index(job: Job) -> int | None:
    """Return the number of the GPU that a job uses, or may use; ``None``: it uses none."""
    backend = job.backend
    on_cpu = backend.name == "ort-cpu" or (backend.name == "fake" and "gpu" not in backend.options)
    return None if on_cpu else _index(job)


def _index(job: Job) -> int:
    options = job.backend.options
    for_trtexec = _FLAG.search(options.get("args", ""))
    if for_trtexec:
        return int(for_trtexec[1])
    named = next((options[key] for key in _OPTIONS if key in options), "0")
    return int(named) if named.isdecimal() else 0
