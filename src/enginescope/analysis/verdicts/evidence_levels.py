"""Name the evidence below a comparison, and compare figures that tools only printed.

Printed figures show where a difference lies: on the GPU, in the enqueue, or in the throughput. They
have no interval, so nothing here claims that a difference is more than noise.
"""

from collections.abc import Callable, Sequence

from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.verdicts.comparability import CompareConfig, differences
from enginescope.judge.comparison.ratio import middle_of
from enginescope.judge.verdict import EvidenceLevel, Reason, Verdict, VerdictKind
from enginescope.records.run.run import Run

THROUGHPUT = "throughput"
GPU_COMPUTE = "gpu_compute"
ENQUEUE = "enqueue"
#: Metrics of a printed summary in the order of their rows.
_METRICS = (GPU_COMPUTE, ENQUEUE, "latency", "trtexec_latency", "end_to_end", "h2d", "d2h")
#: Figures of the build, and from where: milliseconds, bytes.
_OF_BUILD: tuple[tuple[str, Callable[[RunView], float | None]], ...] = (
    ("build", lambda view: _ms(view.run.tool.build_s) if view.run.tool else None),
    ("engine_size", lambda view: view.run.tool.engine_bytes if view.run.tool else None),
)


def has_printed(run: Run) -> bool:
    """Whether a tool printed a rate or statistics that can be compared."""
    tool = run.tool
    return tool is not None and (tool.throughput_per_s is not None or bool(tool.summaries))


def is_printed_only(runs: Runs) -> bool:
    """Whether a side has no samples in the processes that succeeded, and printed figures."""
    good = [run for run in runs if run.is_ok]
    return all(run.headline is None for run in good) and any(map(has_printed, good))


def printed_value(view: RunView, metric: str, statistic: str) -> float | None:
    """Return a statistic in ms: of the samples if the run has some, else as the tool printed it."""
    printed = view.run.tool.summaries if view.run.tool else ()
    sampled = view.summary(metric)
    stated = sampled or next((one for one in printed if one.metric == metric), None)
    value = getattr(stated, statistic) if stated is not None else None
    return value if value is not None and value > 0 else None


def printed_verdicts(a: Runs, b: Runs, terms: CompareConfig) -> tuple[Verdict, ...]:
    """Return the figures of B against A, all inconclusive: the throughput first, the build last.

    Verdicts are incomparable where the conditions differ.
    """
    sides = [[RunView(run) for run in side if run.is_ok] for side in (a, b)]
    rates = _middles([[_queries_per_s(view) for view in side] for side in sides])
    rows: list[tuple[str, tuple[float, float], str]] = []
    if rates is not None:
        rows.append((THROUGHPUT, rates, "as printed"))
    for metric in _METRICS:
        for statistic in ("median_ms", "mean_ms"):  # the first that both sides state
            values = [[printed_value(view, metric, statistic) for view in side] for side in sides]
            if pair := _middles(values):
                rows.append((metric, pair, f"{statistic.removesuffix('_ms')} as printed"))
                break
    for metric, of in _OF_BUILD:
        if pair := _middles([[of(view) for view in side] for side in sides]):
            rows.append((metric, pair, "as printed"))
    runs = [[view.run for view in side] for side in sides]
    differing = "; ".join(map(str, differences(*runs, across=terms.across)))
    kind = VerdictKind.INCOMPARABLE if differing else VerdictKind.INCONCLUSIVE
    return tuple(
        Verdict(
            metric=metric,
            kind=kind,
            reason=Reason.DIFFERENT if differing else Reason.PRINTED_ONLY,
            a=pair[0],
            b=pair[1],
            threshold_pct=terms.threshold_pct,
            processes_a=len(sides[0]),
            processes_b=len(sides[1]),
            detail=differing or statistic,
            higher_is_better=metric == THROUGHPUT,
            evidence=EvidenceLevel.PRINTED,
        )
        for metric, pair, statistic in rows
    )


def _ms(seconds: float | None) -> float | None:
    return 1e3 * seconds if seconds is not None else None


def _queries_per_s(view: RunView) -> float | None:
    rate = view.throughput
    return rate.per_s if rate is not None and rate.unit == "queries" else None


def _middles(values: Sequence[Sequence[float | None]]) -> tuple[float, float] | None:
    known = [[one for one in side if one is not None] for side in values]
    if any(not side or len(side) < len(row) for side, row in zip(known, values, strict=True)):
        return None
    return middle_of(known[0]), middle_of(known[1])


def change_pct(verdict: Verdict) -> float | None:
    """Return by how much B is above A, in percent; ``None`` where a figure is not known."""
    return None if not verdict.a or verdict.b is None else 100 * (verdict.b / verdict.a - 1)


def printed_cause(verdicts: Sequence[Verdict]) -> str | None:
    """Return where the printed figures differ, in words.

    ``None`` without both a throughput and a GPU compute time: one alone does not tell the host from
    the GPU. A change within the threshold counts as none.
    """
    of = {one.metric: one for one in verdicts}
    rate, gpu = (change_pct(of[name]) if name in of else None for name in (THROUGHPUT, GPU_COMPUTE))
    if rate is None or gpu is None:
        return None
    threshold = of[THROUGHPUT].threshold_pct
    rate_moved, gpu_moved = abs(rate) > threshold, abs(gpu) > threshold
    if not rate_moved and not gpu_moved:
        return f"no difference above {threshold:g} %"
    word = "slower" if rate < 0 else "faster"
    if rate_moved and not gpu_moved:
        copies = [of[name] for name in ("h2d", "d2h") if name in of]
        before, after = sum(one.a or 0.0 for one in copies), sum(one.b or 0.0 for one in copies)
        change = 100 * (after / before - 1) if before else 0.0
        moved = abs(change) > threshold and (change > 0) is (rate < 0)
        who = "the host or the copies are" if moved else "the host is"
        return f"{who} {word}, not the GPU"
    gpu_word = "slower" if gpu > 0 else "faster"
    if not rate_moved:
        return f"the GPU is {gpu_word}, but the throughput does not follow"
    return f"the GPU is {word}" if gpu_word == word else f"the GPU is {gpu_word}, the host {word}"


def evidence_level(*sides: Runs) -> EvidenceLevel | None:
    """Return the level of the weaker side; ``None`` if a side has no run that succeeded.

    Processes are independent builds if they are interleaved and each built its own engine. An ONNX
    Runtime session that optimizes a model builds nothing that is kept.
    """
    good = [[run for run in side if run.is_ok] for side in sides]
    if not all(good):
        return None
    if any(map(is_printed_only, good)):
        return EvidenceLevel.PRINTED
    if min(map(len, good)) == 1:
        return EvidenceLevel.SAMPLES
    comparisons = {run.turn.comparison if run.turn else None for side in good for run in side}
    if len(comparisons) > 1 or None in comparisons:
        return EvidenceLevel.PROCESSES
    builds = [run.build for side in good for run in side]
    is_built = all(build is not None and not build.from_cache for build in builds)
    return EvidenceLevel.BUILDS if is_built else EvidenceLevel.INTERLEAVED


def is_own_build(run: Run) -> bool:
    """Whether a process made what it ran: an engine, or the graph that ONNX Runtime optimized."""
    if run.build is not None:
        return not run.build.from_cache
    if not run.job.backend.name.startswith("ort") or run.job.subject.kind != "onnx":
        return False
    ready = run.preparation  # sessions optimize a converted model too, but not what was kept
    kept = ready and (ready.provider_options or any(one.kind == "optimized" for one in ready.made))
    return not kept
