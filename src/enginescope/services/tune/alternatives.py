"""Combinations of backend, options and batch: those that can be measured, and why others cannot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, read_spec
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.formats.trtexec.tuning_cache import TunedRoute, read_tuning_cache
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.verdict.tune import InvalidAlternative
from enginescope.runner.jobs import usual_backend
from enginescope.services.measurement.jobs import jobs_of
from enginescope.services.tune.request import MOST_ALTERNATIVES, MOST_ROUTES, TuneRequest
from enginescope.store.archive import Store

#: Option of ``trt`` that a build route is.
BUILD_ROUTE = "build_route"


class Candidate(Record, frozen=True, kw_only=True, eq=False):
    """An alternative that can be measured.

    Attributes:
        number: From 0, the default.
        trtexec_ms: GPU time of its build route in trtexec's file.
    """

    number: int
    job: Job
    batch: int | None = None
    trtexec_ms: float | None = None

    @property
    def backend(self) -> BackendSpec:
        """Its backend and options."""
        return self.job.backend


class Alternatives(Record, frozen=True, kw_only=True, eq=False):
    """What a request comes to; the default is the first candidate.

    Attributes:
        unsearched_routes: Routes of trtexec's file that are left out since others were faster.
    """

    candidates: tuple[Candidate, ...]
    invalid: tuple[InvalidAlternative, ...]
    unsearched_routes: int = 0


class _Combination(Record, frozen=True, kw_only=True):
    spec: BackendSpec
    batch: int | None
    trtexec_ms: float | None = None


def alternatives_of(request: TuneRequest, store: Store) -> Alternatives:
    """Return every combination of a request, valid or not.

    Raises:
        UsageError: The default cannot be measured, no other combination can, there are too many,
            or an option has a value in the backend already.
        MissingDependencyError: The default needs what is not installed.
    """
    routes = read_tuning_cache(request.routes) if request.routes is not None else ()
    timed = sorted(
        (route for route in routes if route.gpu_ms and route.route),
        key=lambda route: route.gpu_ms or 0.0,
    )
    default, *others = _distinct(_combinations(request, timed[:MOST_ROUTES]))
    if len(others) >= MOST_ALTERNATIVES:
        raise UsageError(
            f"{len(others) + 1:,} alternatives",
            why=f"at most {MOST_ALTERNATIVES} are measured",
            hint="fewer values; tune the options that matter most first",
        )
    candidates = [_candidate(request, store, 0, default)]
    invalid = [_crashed(request, route) for route in routes if not route.gpu_ms]
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
    specs = [read_spec(text) for text in request.backends or (usual_backend(request.model),)]
    batches: tuple[int | None, ...] = request.batches or (request.workload.batch,)
    yield _Combination(spec=specs[0], batch=batches[0])
    for spec, values in product(specs, product(*request.options.values())):
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


def _distinct(combinations: Iterator[_Combination]) -> list[_Combination]:
    """Return each combination once, in the order of the first."""
    distinct: dict[tuple[str, int | None], _Combination] = {}
    for combination in combinations:
        distinct.setdefault((str(combination.spec), combination.batch), combination)
    return list(distinct.values())


def _crashed(request: TuneRequest, route: TunedRoute) -> InvalidAlternative:
    spec = read_spec(request.backends[0] if request.backends else usual_backend(request.model))
    named = replace(spec, options={**spec.options, BUILD_ROUTE: route.route})
    return InvalidAlternative(backend=str(named), why=f"in trtexec: {route.error}")


def _candidate(
    request: TuneRequest, store: Store, number: int, combination: _Combination
) -> Candidate:
    mode = replace(request.workload.mode, kind=request.metric)
    workload = replace(request.workload, batch=combination.batch, mode=mode)
    varied = replace(request, workload=workload)
    (job,) = jobs_of(varied.jobs(request.model, backends=(str(combination.spec),)), store)
    if not isinstance(load_backend(job.backend.name), Answering):
        raise UsageError(f"{job.backend.name} returns no outputs that can be checked")
    return Candidate(
        number=number, job=job, batch=combination.batch, trtexec_ms=combination.trtexec_ms
    )
