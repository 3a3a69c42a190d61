"""Makes a model ready in a process of its own: converts it, lets the provider build its engines.

A sign of life while a provider builds engines, which may take minutes without a word.

An entry is a folder ``ort/<key>/`` of the engine cache with the provider's caches and the record of
how they came to be; its key has everything that decides what is made. One key, one folder: a
provider that finds its engines by the name of a graph never meets those of another model, shape or
version.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from enginescope.backends.base import FeedSource, Measured, ProgressSink
from enginescope.backends.loop import clocked
from enginescope.backends.onnxruntime.convert import model_files
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model, fp16_notice
from enginescope.backends.onnxruntime.convert.mixed_precision import autocast_model
from enginescope.backends.onnxruntime.convert.model_files import FOLDER as CONVERTED
from enginescope.backends.onnxruntime.options import STORED_GRAPH, fp16_way
from enginescope.backends.onnxruntime.providers.opening import setup_of
from enginescope.backends.onnxruntime.providers.providers import Provider, library_of, not_built_in
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.errors import BackendError, FormatError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.optional import versions_of
from enginescope.core.process_control import PeriodicThread
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_precision import digest_of
from enginescope.judge.notice import Notice, Notices
from enginescope.probe.host import peak_rss_bytes
from enginescope.probe.nvml import probe_device
from enginescope.records.plan.build import MadeModel, Preparation
from enginescope.records.progress import Phase, Progress
from enginescope.records.run.job import Job

RECORD = "prepared.json"
_FOLDER = "ort"
_CACHES = "caches"
#: Raised when a record says more of the same model.
_REVISION = 2
#: Wheels of which a version decides what is built.
_WHEELS = (
    *("onnxruntime", "onnxruntime-gpu", "onnxruntime-ep-nv-tensorrt-rtx-cu12"),
    *("onnxruntime-ep-nv-tensorrt-rtx-cu13", "tensorrt", "tensorrt-cu12", "tensorrt-cu13"),
    *("tensorrt-cu12-libs", "tensorrt-cu13-libs", "onnx-ir"),
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
    """Return the digest of model, shapes, options, versions, GPU and driver."""
    workload, options = job.workload, job.backend.options
    device = probe_device(int(options.get("device_id", "0"))) if provider.on_cuda else None
    path = job.subject.path or ""
    return model_files.key_of(
        _REVISION,
        digest_of(path),
        Path(path).name,  # TensorRT's provider calls its engines by it
        provider.name,
        job.backend.precision,
        sorted(options.items()),
        sorted((shape.name, shape.dims) for shape in workload.shapes),
        sorted((file.name, file.path) for file in workload.files),
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
    # The last one made is what is loaded.
    if found is None or not all(map(model_files.is_sound, found.made[-1:])):
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
    cache = record.parents[2] / CONVERTED
    made = tuple(
        replace(one, path=str(cache / one.key / Path(one.path).name)) for one in found.made
    )
    model = made[-1].path if made else job.subject.path or ""
    if not Path(model).is_file() or (made and model_files.lookup(Path(model).parent) is None):
        return None
    told = cache_options(record.parent, provider) if found.provider_options else {}
    return replace(found, model=model, made=made, provider_options=told, record=str(record))


def cache_options(entry: Path, provider: Provider) -> dict[str, str]:
    """Return what tells the provider to keep its engines in `entry`."""
    folder = str(entry / _CACHES)
    return {key: value.format(folder=folder) for key, value in provider.cache_options.items()}


def record_of(job: Job, key: str) -> Path:
    return Path(job.engine_cache or ".") / _FOLDER / key / RECORD


_INTERVAL_S = 1.0


@contextmanager
def ticking(progress: ProgressSink, phase: str, doing: str) -> Iterator[None]:
    """Report a phase and how long it has taken, once a second, while this block runs."""
    begun = monotonic()

    def beat() -> None:
        progress(Progress(phase=phase, detail=f"{doing}, {monotonic() - begun:.0f} s so far"))

    progress(Progress(phase=phase, detail=doing))
    beats = PeriodicThread(beat, _INTERVAL_S, waits_first=True)
    beats.start()
    try:
        yield
    finally:
        beats.stop()


def make_ready(
    ort: Any, job: Job, provider: Provider, feeds: FeedSource, progress: ProgressSink
) -> Measured:
    """Make `job` ready and keep what was made."""
    plugin = job.backend.options.get("plugin")
    is_built_in = provider.name in ort.get_available_providers() and plugin is None
    if not is_built_in and library_of(provider, plugin) is None:  # before anything is converted
        raise not_built_in(ort, provider)
    key = preparation_key(job, provider)
    made = [*_conversions(job, provider, progress)]
    if job.backend.options.get(STORED_GRAPH) == "1":
        progress(Progress(phase="convert"))
        setup = setup_of(ort, job, provider, _ready(job, key, made))
        made.append(model_files.optimized_model(ort, job, setup))
    entry = record_of(job, key).parent
    with model_files.new_entry(entry, lambda: find(job, provider) is not None) as part:
        (part / _CACHES).mkdir()
        if builds_engines(job, provider):
            ready = _Building(ort, job, provider, feeds, progress).run(part, key, made)
        else:
            ready = _ready(job, key, made)
            lost = fp16_notice(ort, job, setup_of(ort, job, provider, ready))
            ready = replace(ready, notices=lost)
        write_atomic(part / RECORD, encode(ready))  # last, so that an entry without it is none
    return Measured(preparation=read(record_of(job, key), job, provider) or ready)


def options_of_conversion(job: Job) -> Fp16Options:
    options = job.backend.options
    operators, nodes = (
        tuple(filter(None, options.get(f"{kind}_block_list", "").split(",")))
        for kind in ("op", "node")
    )
    keeps = options.get("keep_io_types", "1") == "1"
    return Fp16Options(keep_io_types=keeps, op_block_list=operators, node_block_list=nodes)


def _conversions(job: Job, provider: Provider, progress: ProgressSink) -> list[MadeModel]:
    folder, model = Path(job.engine_cache or "."), Path(job.subject.path or "")
    made: list[MadeModel] = []
    way = fp16_way(job.backend, provider)
    if way in ("converter", "autocast"):
        progress(Progress(phase="convert"))
        asked = options_of_conversion(job)
        if way == "autocast":
            python = job.backend.options["autocast_python"]
            made.append(autocast_model(model, folder, python, asked))
        else:
            made.append(fp16_model(model, folder, asked))
    if job.backend.options.get("infer_shapes") == "always":
        progress(Progress(phase="infer_shapes"))
        made.append(model_files.inferred_model(Path(made[-1].path if made else model), folder))
    return made


def _ready(job: Job, key: str, made: list[MadeModel], **more: Any) -> Preparation:
    model = made[-1].path if made else job.subject.path or ""
    return Preparation(
        key=key, model=model, made=tuple(made), peak_host_bytes=peak_rss_bytes(), **more
    )


class _Building(NamedTuple):
    """A first session and a first request, caches empty."""

    ort: Any
    job: Job
    provider: Provider
    feeds: FeedSource
    progress: ProgressSink

    def run(self, part: Path, key: str, made: list[MadeModel]) -> Preparation:
        try:
            return self._built(part, key, made)
        except BackendError as error:
            may_infer = self.job.backend.options.get("infer_shapes", "auto") == "auto"
            is_inferred = any(one.kind == "shapes" for one in made)
            if model_files.ASKED_FOR not in str(error) or not may_infer or is_inferred:
                raise
        self.progress(Progress(phase="infer_shapes"))
        source = Path(made[-1].path if made else self.job.subject.path or "")
        made.append(
            model_files.inferred_model(source, Path(self.job.engine_cache or tempfile.gettempdir()))
        )
        return self._built(part, key, made)

    def _built(self, part: Path, key: str, made: list[MadeModel]) -> Preparation:
        told = cache_options(part, self.provider)
        so_far = _ready(self.job, key, made, provider_options=told)
        setup = setup_of(self.ort, self.job, self.provider, so_far)
        with ticking(self.progress, "build", f"{self.provider.name} builds what it needs"):
            session, load_ms = clocked(lambda: OrtSession(self.ort, self.job, setup))
            try:
                session.bind(self.feeds(session.input_specs))
                _, first_ms = clocked(session.step)
                memory = session.device_memory()
            finally:
                session.close()
        del session  # some providers write their caches when they are released
        sizes = [one.stat().st_size for one in (part / _CACHES).rglob("*") if one.is_file()]
        return _ready(
            self.job,
            key,
            made,
            provider_options=told,
            cold=(
                Phase(name="cold_load", duration_ms=load_ms),
                Phase(name="cold_first_inference", duration_ms=first_ms),
            ),
            cache_files=len(sizes),
            cache_bytes=sum(sizes),
            peak_device_bytes=memory.process_peak_bytes if memory else None,
        )


def precision_notices(job: Job, provider: Provider, found: Preparation | None) -> Notices:
    """Return what was done for the precision, and to the model besides."""
    made = found.made if found else ()
    said = [notice for one in made for notice in (_conversion_notice(one), *one.notices)]
    precision = job.backend.precision or ""
    if fp16_way(job.backend, provider) == "switch":
        options = dict(provider.switches[precision])
        switch = f"switch ({' '.join(f'{k}={v}' for k, v in options.items())})"
        message = f"{precision}: by {provider.name}'s own {switch}; the model is as it was"
        said.append(Notice("I-PRECISION", message, {"way": "switch", "options": options}))
    return (*said, *(found.notices if found else ()))


def _conversion_notice(made: MadeModel) -> Notice:
    fields = ("tool", "versions", "options", "details", "key")
    evidence = {name: getattr(made, name) for name in fields}
    versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    if made.kind == "shapes":
        message = f"the shapes in the model were inferred by {made.tool} ({versions})"
        return Notice("I-SHAPES", message, evidence)
    ends = made.options.get("keep_io_types", "1")
    kept = "inputs and outputs stay FP32" if ends == "1" else "inputs and outputs FP16 too"
    staying = made.details.get("nodes_in_fp32")
    of = f", {staying:,} of {made.details['nodes']:,} nodes in FP32" if staying else ""
    message = f"fp16: the model was converted by {made.tool} ({versions}); {kept}{of}"
    way = "autocast" if made.kind == "autocast" else "converter"
    return Notice("I-PRECISION", message, {"way": way, **evidence})
