"""What was made ready earlier: found by everything that decides what is made.

An entry is a folder ``ort/<key>/`` of the engine cache with the provider's caches and the record of
how they came to be. One key, one folder: a provider that finds its engines by the name of a graph
never meets those of another model, shape or version.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enginescope.backends.onnxruntime.convert.model_cache import FOLDER as CONVERTED
from enginescope.backends.onnxruntime.convert.model_cache import (
    is_sound,
    key_of,
    lookup,
    versions_of,
)
from enginescope.backends.onnxruntime.options import STORED_GRAPH, fp16_way
from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.core.errors import BackendError, FormatError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_precision import digest_of
from enginescope.probe.nvml import probe_device
from enginescope.records.plan.build import MadeModel, Preparation
from enginescope.records.run.job import Job

RECORD = "prepared.json"
_FOLDER = "ort"
_CACHES = "caches"
#: Raised when a record says more of the same model.
_REVISION = 2
#: Wheels of which a version decides what is built.
_WHEELS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-ep-nv-tensorrt-rtx-cu12",
    "onnxruntime-ep-nv-tensorrt-rtx-cu13",
    "tensorrt",
    "tensorrt-cu12",
    "tensorrt-cu13",
    "tensorrt-cu12-libs",
    "tensorrt-cu13-libs",
    "onnx-ir",
)


def builds_engines(job: Job, provider: Provider) -> bool:
    """Whether the provider keeps engines where we say: the user names no place of his own."""
    return bool(provider.cache_options) and not provider.cache_options.keys() & (
        job.backend.options.keys()
    )


def needs_another_model(job: Job, provider: Provider) -> bool:
    """Whether what is measured is a model made from the user's."""
    converts = fp16_way(job.backend, provider) in ("converter", "autocast")
    options = job.backend.options
    return converts or options.get("infer_shapes") == "always" or options.get(STORED_GRAPH) == "1"


def needs_preparation(job: Job, provider: Provider) -> bool:
    """Whether something is to be made of the model before it is measured."""
    if job.subject.kind != "onnx" or job.engine is not None:
        return False
    return needs_another_model(job, provider) or builds_engines(job, provider)


def preparation_key(job: Job, provider: Provider) -> str:
    """Return the digest of model, shapes, options, versions, GPU and driver.

    Raises:
        BackendError: The model cannot be read, or a file of its weights is missing.
    """
    workload, options = job.workload, job.backend.options
    device = probe_device(int(options.get("device_id", "0"))) if provider.on_cuda else None
    path = job.subject.path or ""
    return key_of(
        _REVISION,
        digest_of(path),
        Path(path).name,  # TensorRT's provider calls its engines by it
        provider.name,
        job.backend.precision,
        sorted(options.items()),
        sorted((one.name, one.dims) for one in workload.shapes),
        sorted((one.name, one.path) for one in workload.files),
        workload.data_set,
        workload.batch,
        workload.mode.cuda_graph,
        versions_of(*_WHEELS),
        (device.name, device.compute_capability, device.driver) if device else None,
    )


def find(job: Job, provider: Provider) -> Preparation | None:
    """Return what was made ready earlier for `job`; ``None`` if it was not, or is not whole."""
    if job.engine_cache is None:
        return None
    try:
        entry = Path(job.engine_cache) / _FOLDER / preparation_key(job, provider)
    except (BackendError, OSError):  # making it says what is wrong with the model
        return None
    found = read(entry / RECORD, job, provider)
    if found is None or not all(map(is_sound, found.made[-1:])):  # the last is what is loaded
        return None
    return replace(found, from_cache=True)


def read(record: Path, job: Job, provider: Provider) -> Preparation | None:
    """Return what a record says, every place as it is now; ``None`` if it is not whole.

    Store and model may have been moved since.
    """
    try:
        found = decode(read_bytes(record), Preparation, source=str(record))
    except FormatError:
        return None
    made = tuple(_moved(one, record) for one in found.made)
    model = made[-1].path if made else job.subject.path or ""
    if not Path(model).is_file() or (made and lookup(Path(model).parent) is None):
        return None
    told = cache_options(record.parent, provider) if found.provider_options else {}
    return replace(found, model=model, made=made, provider_options=told, record=str(record))


def _moved(one: MadeModel, record: Path) -> MadeModel:
    cache = record.parents[2]
    path = cache / CONVERTED / one.key / Path(one.path).name
    return replace(one, path=str(path))


def cache_options(entry: Path, provider: Provider) -> dict[str, str]:
    """Return what tells the provider to keep its engines in `entry`."""
    folder = str(entry / _CACHES)
    return {key: value.format(folder=folder) for key, value in provider.cache_options.items()}


@contextmanager
def being_made(job: Job, key: str) -> Iterator[Path]:
    """Yield a new folder, which becomes the entry of `key` if nothing is raised.

    An entry that another process has made meanwhile stays: it has the same key, and may be in use.
    """
    entry = Path(job.engine_cache or ".") / _FOLDER / key
    is_made_anew = entry.exists()  # it was not whole
    part = entry.with_name(f".{key}.{secrets.token_hex(4)}")
    (part / _CACHES).mkdir(parents=True)
    try:
        yield part
        if is_made_anew:
            shutil.rmtree(entry, ignore_errors=True)
        try:
            part.rename(entry)
        except OSError:
            if not (entry / RECORD).is_file():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def record_of(job: Job, key: str) -> Path:
    return Path(job.engine_cache or ".") / _FOLDER / key / RECORD


def write(part: Path, made: Preparation) -> None:
    """Write the record: last, so that an entry without it is none."""
    write_atomic(part / RECORD, encode(made))


def kept_in(part: Path) -> tuple[int, int]:
    """Return how many files the provider has left in its caches, and their size."""
    sizes = [one.stat().st_size for one in (part / _CACHES).rglob("*") if one.is_file()]
    return len(sizes), sum(sizes)
