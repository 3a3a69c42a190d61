"""What ``tune`` is asked for, and the combinations of backend, options and batch that it means."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, read_spec
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.formats.trtexec.tuning_cache import TunedRoute, read_tuning_cache
from enginescope.judge.comparison.looks import LOOKS, MOST_ROUNDS, THRESHOLD_PCT
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.verdict.tune import InvalidAlternative, TuneMetric
from enginescope.runner.jobs import usual_backend
from enginescope.services.accuracy.request import SampledRequest
from enginescope.services.declared import File, Param, check_declared, existing
from enginescope.services.measurement.jobs import jobs_of
from enginescope.store.archive import Store

#: More alternatives than these are a mistake: each has at least three processes.
MOST_ALTERNATIVES = 64
#: Build routes of a file that are measured: the fastest ones of trtexec's single measurements.
MOST_ROUTES = 16
#: Option of ``trt`` that a build route is.
BUILD_ROUTE = "build_route"
_SIZE = re.compile(r"[1-9]\d{0,8}")


def parse_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the name and the values of ``NAME=V1,V2``."""
    name, equals, rest = text.partition("=")
    values = tuple(value.strip() for value in rest.split(","))
    if not name or not equals or not all(values):
        hint = "as in graph_optimization_level=all,basic"
        raise UsageError(f"{text!r} is not NAME=V1,V2", hint=hint)
    return name, values


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the batch sizes of ``1,2,4``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_SIZE.fullmatch, parts)):
        raise UsageError(f"{text!r} is not a list of sizes", hint="as in 1,2,4")
    return tuple(map(int, parts))


class TuneRequest(SampledRequest, frozen=True, kw_only=True):
    """A model, and what may be varied: the parameters of `tune`."""

    on: Annotated[
        str | Sequence[str],
        Param("Backends to try, the first one as the default.", usual="ort-cpu; trt for an engine"),
    ] = ()
    options: Annotated[
        Mapping[str, Sequence[Any]],
        Param(
            "Values of a backend's option to try, in all combinations.",
            flag="--option",
            heading="Model and inputs",
            metavar="NAME=V1,V2",
            read=parse_values,
        ),
    ] = {}
    batch: Annotated[
        int | Sequence[int],
        Param(
            "Sizes of dynamic first dimensions to try, the first one as the default.",
            least=1,
            metavar="SIZE,…",
            read=parse_sizes,
        ),
    ] = ()
    routes: Annotated[
        File | None,
        existing("Try the fastest build routes in this file of trtexec --tuningCacheFile."),
    ] = None
    metric: Annotated[
        TuneMetric,
        Param(
            "Find the least time per item with one request in flight, or the most items per second."
        ),
    ] = "latency"
    tolerance: Annotated[
        str | None,
        Param("Use the tolerances of this precision, such as fp16.", metavar="PRECISION"),
    ] = None
    rounds: Annotated[
        int,
        Param("Maximum number of rounds of the confirmation.", least=LOOKS[0], most=MOST_ROUNDS),
    ] = 30
    threshold_pct: Annotated[
        float, Param("Ignore smaller differences.", above=0, most=100, metavar="PERCENT")
    ] = THRESHOLD_PCT

    def __post_init__(self) -> None:
        """Raise `UsageError` for a field that is out of bounds, or an option without values."""
        check_declared(self)
        for name, values in self.options.items():
            if not values:
                raise UsageError(f"`option` {name}", why="it has no values", hint="NAME=V1,V2")


class Candidate(Record, frozen=True, kw_only=True, eq=False):
    """An alternative that can be measured; number 0 is the default.

    `trtexec_ms` is the GPU time of its build route in trtexec's file.
    """

    number: int
    job: Job
    batch: int | None = None
    trtexec_ms: float | None = None


class Alternatives(Record, frozen=True, kw_only=True, eq=False):
    """What a request comes to; the default is the first candidate.

    `unsearched_routes` of trtexec's file are left out since others were faster.
    """

    candidates: tuple[Candidate, ...]
    invalid: tuple[InvalidAlternative, ...]
    unsearched_routes: int = 0


class _Combination(Record, frozen=True, kw_only=True):
    spec: BackendSpec
    batch: int | None
    trtexec_ms: float | None = None


def alternatives_of(request: TuneRequest, store: Store) -> Alternatives:
    """Return every combination of a request, valid or not."""
    routes = read_tuning_cache(Path(request.routes)) if request.routes is not None else ()
    timed = [route for route in routes if route.gpu_ms and route.route]
    timed.sort(key=lambda route: route.gpu_ms or 0.0)
    combinations = _combinations(request, timed[:MOST_ROUTES])
    default, *others = {(str(one.spec), one.batch): one for one in combinations}.values()
    if len(others) >= MOST_ALTERNATIVES:
        what = f"{len(others) + 1:,} alternatives"
        hint = "fewer values; tune the options that matter most first"
        raise UsageError(what, why=f"at most {MOST_ALTERNATIVES} are measured", hint=hint)
    candidates = [_candidate(request, store, 0, default)]
    invalid = []
    for route in routes:
        if not route.gpu_ms:
            options = {**default.spec.options, BUILD_ROUTE: route.route}
            backend = str(replace(default.spec, options=options))
            why = f"in trtexec: {route.error}"
            invalid.append(InvalidAlternative(backend=backend, why=why))
    for other in others:
        try:
            candidates.append(_candidate(request, store, len(candidates), other))
        except EnginescopeError as error:
            why = f"{error} ({error.hint})" if error.hint else str(error)
            invalid.append(InvalidAlternative(backend=str(other.spec), batch=other.batch, why=why))
    if len(candidates) == 1:
        raise UsageError(
            "no alternative to the default",
            why=invalid[0].why if invalid else "one backend, no options, one batch",
            hint="`option` NAME=V1,V2, or several `on`",
        )
    return Alternatives(
        candidates=tuple(candidates),
        invalid=tuple(invalid),
        unsearched_routes=max(0, len(timed) - MOST_ROUTES),
    )


def _combinations(request: TuneRequest, routes: list[TunedRoute]) -> Iterator[_Combination]:
    """Yield the default, then every combination; some may occur twice."""
    specs = [read_spec(text) for text in request.backends or (usual_backend(request.path),)]
    sizes = (request.batch,) if isinstance(request.batch, int) else tuple(request.batch)
    batches: tuple[int | None, ...] = sizes or (request.workload.batch,)
    yield _Combination(spec=specs[0], batch=batches[0])
    tried = [tuple(map(str, values)) for values in request.options.values()]
    for spec, values in product(specs, product(*tried)):
        named = dict(zip(request.options, values, strict=True))
        both = named.keys() & spec.options.keys()
        if both:
            raise UsageError(f"`option` {min(both)}", why=f"{spec} has a value for it")
        chosen = replace(spec, options={**spec.options, **named})
        for batch in batches:
            yield _Combination(spec=chosen, batch=batch)
            for route in routes:
                options = {**chosen.options, BUILD_ROUTE: route.route}
                routed = replace(chosen, options=options)
                yield _Combination(spec=routed, batch=batch, trtexec_ms=route.gpu_ms)


def _candidate(
    request: TuneRequest, store: Store, number: int, combination: _Combination
) -> Candidate:
    mode = replace(request.workload.mode, kind=request.metric)
    workload = replace(request.workload, batch=combination.batch, mode=mode)
    varied = replace(request, workload=workload)
    (job,) = jobs_of(varied.jobs(request.path, on=str(combination.spec)), store)
    if not isinstance(load_backend(job.backend.name), Answering):
        raise UsageError(f"{job.backend.name} returns no outputs that can be checked")
    return Candidate(
        number=number, job=job, batch=combination.batch, trtexec_ms=combination.trtexec_ms
    )
