"""``sensitivity``: which layers may be FP16 or INT8, and which stay in FP32?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from time import perf_counter

from enginescope.analysis.sensitivity.layer_ranking import front_of, proposed
from enginescope.backends.registry import read_spec
from enginescope.core.errors import UsageError
from enginescope.core.record import copied, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.comparison.looks import THRESHOLD_PCT
from enginescope.judge.comparison.ratio import decide
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.sample_set import Sample
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    SensitiveLayer,
    SensitivityReport,
)
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import choose_samples
from enginescope.services.accuracy.sides import spanning_jobs
from enginescope.services.bisection.search import FP16_ON_CPU
from enginescope.services.declared import python_function
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import jobs_of
from enginescope.services.measurement.observer import MeasurementObserver, merged_notices
from enginescope.services.measurement.recorded import kept_folder
from enginescope.services.measurement.rounds import interrupted_notice
from enginescope.services.sensitivity.conversion import Conversion, Outputs, read_layers
from enginescope.services.sensitivity.search import (
    SensitivityRequest,
    SensitivitySearch,
    check_sensitivity_request,
)
from enginescope.services.store_access import made_now, writable_store

#: Shares of the maximum time at whose ends a step ends: outputs of layers, their times, outputs of
#: cumulative models, their times.
_SHARES = (0.4, 0.6, 0.8, 1.0)


def measure_sensitivity(
    request: SensitivityRequest, observer: MeasurementObserver
) -> SensitivityReport:
    """Measure what each layer of a model loses in a lower precision, and propose which to keep.

    Each layer alone is converted, with the others in FP32; then more and more together, the least
    error per time saved first. INT8 is calibrated with the samples too.

    Returns:
        ``report.keep`` names the layers to keep in FP32; ``report.use`` is a backend for `bench`.

    Raises:
        UsageError: A request that contradicts itself or the model.
        StoreError: The store cannot be written.
        UnsupportedError: The backend cannot hold layers in FP32.
        BackendError: FP32 does not run, or no layer can be converted.
    """
    check_sensitivity_request(request)
    if read_spec(request.on).precision is not None:
        why = "FP32 is what layers are converted from"
        hint = f"`on` {request.on.partition(':')[0]}, and `to` fp16 or int8"
        raise UsageError(f"`on` {request.on}", why=why, hint=hint)
    layers = read_layers(request.path, request.by)
    store = writable_store(request.store)
    begin = perf_counter()
    most_s = math.inf if request.max_time_s is None else request.max_time_s
    ends = [begin + share * most_s for share in _SHARES]
    workload = settled_workload([request.path], request.workload)
    chosen = choose_samples(request.path, request.sample_request, workload)
    shaped = replace(request, workload=replace(workload, shapes=chosen.shapes))
    paced = replace(shaped, workload=paced_workload(shaped.workload))
    (base,) = jobs_of(paced.jobs(shaped.path, on=shaped.on), store)
    search_key = base, request.to, request.by, request.max_error, chosen.samples
    home = kept_folder(store.path / "sensitivity", search_key, request, observer)
    with temporary_folder() as folder, home as models_folder:
        job = spanning_jobs(shaped.validation(on=(shaped.on,)), chosen.samples)[0]
        conversion = Conversion(request.to, layers, job, models_folder)
        outputs = Outputs(job, chosen.samples, conversion, observer, folder, request.max_error)
        if request.to == "int8":
            conversion.calibrate(outputs.feeds())
        search = SensitivitySearch(shaped, layers, base, conversion, outputs, store, observer)
        sensitive = search.alone(ends[0], ends[1])
        is_cut = observer.interruption is not None
        models = search.cumulative(sensitive, *((begin, begin) if is_cut else ends[2:]))
        report = _report(request, search, sensitive, models, chosen.samples)
        if report.proposal is not None:
            converted = report.proposal.layers
            use, exclude = conversion.use(base, converted), conversion.kept_nodes(converted)
            report = replace(report, use=use, exclude=exclude)
    is_cut = observer.interruption is not None
    runs = search.timings[-1].runs if search.timings else ()
    notices = (*_notices(request, report, is_interrupted=is_cut), *merged_notices(runs))
    return replace(report, duration_s=perf_counter() - begin, notices=notices)


def _report(
    request: SensitivityRequest,
    search: SensitivitySearch,
    layers: Sequence[SensitiveLayer],
    models: tuple[ConvertedModel, ...],
    samples: Sequence[Sample],
) -> SensitivityReport:
    def is_distinct(a: int, b: int) -> bool | None:
        return search.is_distinct(models[a], models[b])

    number = proposed(models, is_distinct)
    chosen = models[number] if number is not None else None
    kind = VerdictKind.INCONCLUSIVE
    if chosen is not None and chosen.time is not None:
        kind, _ = decide(chosen.time.ratio, THRESHOLD_PCT)
    can_convert = [layer.name for layer in layers if layer.alone.state != "unchanged"]
    fp32 = [] if chosen is None else [name for name in can_convert if name not in chosen.layers]
    last = search.timings[-1] if search.timings else None
    return copied(
        SensitivityReport,
        request,
        model=search.base.subject.name,
        backend=request.on,
        tolerance=request.to,
        layers=tuple(replace(layer, is_kept=layer.name in fp32) for layer in layers),
        cumulative=models,
        order=search.order,
        ordered_by="error per time saved" if search.is_by_time else "error",
        front=front_of(models, is_distinct),
        proposed=number,
        kind=kind,
        baseline_ms=last.base_ms if last else None,
        rounds=last.rounds if last else 0,
        evidence=last.evidence if last else None,
        comparisons=tuple(timing.comparison for timing in search.timings),
        samples=len(samples),
        random_samples=not any(one.files or one.images or one.data_set for one in samples),
        **made_now(request.command),
    )


def _notices(
    request: SensitivityRequest, report: SensitivityReport, *, is_interrupted: bool
) -> Iterator[Notice]:
    if is_interrupted:
        yield interrupted_notice(f"{report.rounds} of {counted(request.rounds, 'round')}")
    if request.to == "fp16" and read_spec(request.on).is_cpu:
        yield FP16_ON_CPU
    if request.to == "int8" and report.random_samples:
        yield Notice(
            code="W-RANDOM-CALIBRATION",
            message=f"INT8 ranges come from {report.samples} random samples: errors on real data "
            "differ; use samples of your own",
            evidence={"samples": report.samples},
        )
    models = (*(layer.alone for layer in report.layers), *report.cumulative)
    late = sum(one.state == "unreached" for one in models)
    if late or (request.max_time_s is not None and report.rounds < request.rounds):
        compared = f"{counted(late, 'model')} {'is' if late == 1 else 'are'} not compared"
        timed = f"times rest on {report.rounds} of {request.rounds} rounds"
        parts = [compared] if late else []
        parts.append(timed if report.evidence is not None else "times are not measured")
        message = f"the maximum time was over: {', and '.join(parts)}"
        evidence = {"unreached": late, "rounds": report.rounds}
        yield Notice(code="I-SHORT-SEARCH", message=message, evidence=evidence)


sensitivity = python_function("sensitivity", SensitivityRequest, measure_sensitivity)
