"""Cold start from a compiled model: EPContext models of ONNX Runtime's `ModelCompiler`."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any

from enginescope.backends.onnxruntime.options import session_options
from enginescope.backends.onnxruntime.providers.missing import translated
from enginescope.backends.onnxruntime.providers.opening import Setup, add_provider, open_session
from enginescope.core.errors import EnginescopeError, UnsupportedError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.records.progress import Phase
from enginescope.records.run.job import Job

_REPEATS = 3
_MOST_MS = 10_000.0

Start = tuple[tuple[Phase, ...], Notice]


def compiled_start(ort: Any, job: Job, setup: Setup) -> Start:
    """Compile a model, and time sessions from it and from the original, interleaved.

    The provider's caches are not used. Times are medians of three, or of fewer when they take
    longer than 10 s.

    Returns:
        No phases and a notice with the cause where the provider cannot compile the model.
    """
    caches = setup.provider.cache_options
    own = {k: v for k, v in setup.provider_options.items() if k not in caches}
    plain = replace(setup, provider_options=own)
    name = setup.provider.name
    with temporary_folder() as folder:
        compiled = replace(plain, model=str(folder / Path(setup.model).name))
        try:
            with translated(f"compiling {Path(setup.model).name}"):
                compile_ms = _compile(ort, job, plain, compiled.model)
                times = _times_ms(ort, job, (plain, compiled))
        except (EnginescopeError, MemoryError) as error:
            return (), _cannot(name, error)
    whole, short = (median(some) for some in times)
    phases = (
        Phase(name="compile_model", duration_ms=compile_ms),
        Phase(name="session_from_model", duration_ms=whole),
        Phase(name="session_from_compiled", duration_ms=short),
    )
    message = (
        f"session creation on {name}: {whole:,.4g} ms from the model, {short:,.4g} ms from the "
        f"compiled one (medians of {len(times[0])}, interleaved, caches off)"
    )
    evidence = {"from_model_ms": times[0], "from_compiled_ms": times[1], "compile_ms": compile_ms}
    return phases, Notice(code="I-EP-CONTEXT", message=message, evidence=evidence, level="info")


def _compile(ort: Any, job: Job, setup: Setup, target: str) -> float:
    """Write the EPContext model and return the time, ms."""
    if not hasattr(ort, "ModelCompiler"):
        raise UnsupportedError("ModelCompiler", why=f"ONNX Runtime {ort.__version__} has none")
    options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
    add_provider(ort, setup, options)
    flag = int(ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED)
    begin = perf_counter_ns()
    ort.ModelCompiler(options, setup.model, flags=flag).compile_to_file(target)
    return (perf_counter_ns() - begin) / 1e6


def _times_ms(ort: Any, job: Job, setups: tuple[Setup, ...]) -> list[list[float]]:
    """Return how long sessions take to create, per setup; each is dropped at once."""
    times: list[list[float]] = [[] for _ in setups]
    while len(times[0]) < _REPEATS and sum(map(sum, times)) < _MOST_MS:
        for setup, own in zip(setups, times, strict=True):
            options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
            begin = perf_counter_ns()
            open_session(ort, setup, options)
            own.append((perf_counter_ns() - begin) / 1e6)
    return times


def _cannot(name: str, error: Exception) -> Notice:
    why = error.why if isinstance(error, EnginescopeError) and error.why else str(error)
    return Notice(
        code="I-NO-EP-CONTEXT",
        message=f"{name} gives no compiled model: {why.splitlines()[0] if why else 'no reason'}",
        evidence={"provider": name},
        level="info",
    )
