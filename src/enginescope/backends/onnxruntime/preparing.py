"""Makes a model ready in a process of its own: converts it, lets the provider build its engines.

A sign of life while a provider builds engines, which may take minutes without a word.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from enginescope.backends.base import FeedSource, Measured, ProgressSink
from enginescope.backends.onnxruntime import prepared
from enginescope.backends.onnxruntime.convert.autocast import autocast_model
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model, fp16_notice
from enginescope.backends.onnxruntime.convert.model_cache import MadeModel
from enginescope.backends.onnxruntime.convert.model_io import ASKED_FOR, inferred_model
from enginescope.backends.onnxruntime.convert.optimized_model import optimized_model
from enginescope.backends.onnxruntime.options import STORED_GRAPH, fp16_way
from enginescope.backends.onnxruntime.providers.missing import not_built_in
from enginescope.backends.onnxruntime.providers.opening import setup_of
from enginescope.backends.onnxruntime.providers.providers import Provider, library_of
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.backends.stepwise import clocked
from enginescope.core.errors import BackendError
from enginescope.core.periodic_thread import PeriodicThread
from enginescope.core.record import replace
from enginescope.probe.memory import peak_rss_bytes
from enginescope.records.plan.build import Preparation
from enginescope.records.progress import Phase, Progress
from enginescope.records.run.job import Job

_INTERVAL_S = 1.0


class ProgressTicker:
    """Reports a phase and how long it has taken, once a second, between ``with`` and its end."""

    def __init__(self, progress: ProgressSink, phase: str, doing: str) -> None:
        self._progress = progress
        self._phase = phase
        self._doing = doing
        self._beats = PeriodicThread(self._beat, _INTERVAL_S, waits_first=True)

    def __enter__(self) -> ProgressTicker:
        self._begun = monotonic()
        self._progress(Progress(phase=self._phase, detail=self._doing))
        self._beats.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._beats.stop()

    def _beat(self) -> None:
        seconds = monotonic() - self._begun
        self._progress(Progress(phase=self._phase, detail=f"{self._doing}, {seconds:.0f} s so far"))


T = TypeVar("T")


def make_ready(
    ort: Any, job: Job, provider: Provider, feeds: FeedSource, progress: ProgressSink
) -> Measured:
    """Make `job` ready and keep what was made.

    Raises:
        UnsupportedError: The provider is not there, or takes nothing of the model.
        BackendError: The model cannot be converted, loaded or run.
    """
    _require_built_in(ort, job, provider)
    key = prepared.preparation_key(job, provider)
    made = [*_conversions(job, provider, progress)]
    if job.backend.options.get(STORED_GRAPH) == "1":
        progress(Progress(phase="convert"))
        setup = setup_of(ort, job, provider, _ready(job, key, made))
        made.append(optimized_model(ort, job, setup))
    with prepared.being_made(job, key) as part:
        if prepared.builds_engines(job, provider):
            ready = _Building(ort, job, provider, feeds, progress).run(part, key, made)
        else:
            ready = _ready(job, key, made)
            lost = fp16_notice(ort, job, setup_of(ort, job, provider, ready))
            ready = replace(ready, notices=lost)
        prepared.write(part, ready)
    found = prepared.read(prepared.record_of(job, key), job, provider)
    return Measured(preparation=found or ready)


def options_of_conversion(job: Job) -> Fp16Options:
    options = job.backend.options
    return Fp16Options(
        keep_io_types=options.get("keep_io_types", "1") == "1",
        op_block_list=_names(options.get("op_block_list")),
        node_block_list=_names(options.get("node_block_list")),
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(one for one in (text or "").split(",") if one)


def _require_built_in(ort: Any, job: Job, provider: Provider) -> None:
    """Raise before anything is converted for a provider that is not there."""
    given = job.backend.options.get("plugin")
    if provider.name in ort.get_available_providers() and given is None:
        return
    if library_of(provider, given) is None:
        raise not_built_in(ort, provider)


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
        made.append(inferred_model(Path(made[-1].path if made else model), folder))
    return made


def _ready(job: Job, key: str, made: list[MadeModel], **more: Any) -> Preparation:
    return Preparation(
        key=key,
        model=made[-1].path if made else job.subject.path or "",
        made=tuple(made),
        peak_host_bytes=peak_rss_bytes(),
        **more,
    )


class _Building:
    """A first session and a first request, caches empty."""

    def __init__(
        self, ort: Any, job: Job, provider: Provider, feeds: FeedSource, progress: ProgressSink
    ) -> None:
        self._ort = ort
        self._job = job
        self._provider = provider
        self._feeds = feeds
        self._progress = progress

    def run(self, part: Path, key: str, made: list[MadeModel]) -> Preparation:
        try:
            return self._built(part, key, made)
        except BackendError as error:
            may_infer = self._job.backend.options.get("infer_shapes", "auto") == "auto"
            is_inferred = any(one.kind == "shapes" for one in made)
            if ASKED_FOR not in str(error) or not may_infer or is_inferred:
                raise
        self._progress(Progress(phase="infer_shapes"))
        source = Path(made[-1].path if made else self._job.subject.path or "")
        made.append(inferred_model(source, Path(self._job.engine_cache or tempfile.gettempdir())))
        return self._built(part, key, made)

    def _built(self, part: Path, key: str, made: list[MadeModel]) -> Preparation:
        told = prepared.cache_options(part, self._provider)
        so_far = _ready(self._job, key, made, provider_options=told)
        setup = setup_of(self._ort, self._job, self._provider, so_far)
        doing = f"{self._provider.name} builds what it needs"
        with ProgressTicker(self._progress, "build", doing):
            session, load_ms = clocked(lambda: OrtSession(self._ort, self._job, setup))
            try:
                session.bind(self._feeds(session.input_specs))
                _, first_ms = clocked(session.step)
                memory = session.device_memory()
            finally:
                session.close()
        del session  # some providers write their caches when they are released
        files, size = prepared.kept_in(part)
        return _ready(
            self._job,
            key,
            made,
            provider_options=told,
            cold=(
                Phase(name="cold_load", duration_ms=load_ms),
                Phase(name="cold_first_inference", duration_ms=first_ms),
            ),
            cache_files=files,
            cache_bytes=size,
            peak_device_bytes=memory.process_peak_bytes if memory else None,
        )
