"""All that trtexec prints of a run, from the engine to its performance report and layer times."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from enginescope.compat.trtexec.arguments import Version
from enginescope.compat.trtexec.files import KeptTexts
from enginescope.compat.trtexec.log import outputs
from enginescope.compat.trtexec.log.log import (
    Level,
    Line,
    error,
    info,
    number,
    on_one_line,
    warning,
)
from enginescope.compat.trtexec.settings import Settings, dims_text
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import replace
from enginescope.formats.trtexec.exported_times import as_trtexec_prints
from enginescope.judge.samples import Samples, frozen
from enginescope.records.plan.plan import Profile
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.samples import ReportedSummary

#: Metric -> heading, in the order of the summary.
HEADINGS = {
    "trtexec_latency": "Latency",
    "enqueue": "Enqueue Time",
    "h2d": "H2D Latency",
    "gpu_compute": "GPU Compute Time",
    "d2h": "D2H Latency",
}
#: Where nothing is copied trtexec prints zeros.
_COPIES = ("h2d", "d2h")
_MOST_ENQUEUE = 0.8


def performance_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the report of a measured run; nothing for one without GPU compute times."""
    compute = run.series("gpu_compute")
    if compute is None or not len(compute):
        return ()
    series = {one.metric: one for one in run.samples if one.metric in HEADINGS and len(one)}
    for metric in _COPIES:
        if not settings.timing.transfers and metric not in series:
            series[metric] = Samples(metric=metric, values_ms=frozen(np.zeros(len(compute))))
    # trtexec adds up 32-bit floats, which is wrong in the sixth digit it prints; a mean of ours is
    # true to that digit
    statistics = {
        metric: replace(
            as_trtexec_prints(one, settings.percentiles), mean_ms=float(one.values_ms.mean())
        )
        for metric, one in series.items()
    }
    wall_ms = wall_ms_of(run)
    prolog = []
    if run.warmup is not None:
        warm_up = number(settings.timing.warm_up_ms)
        prolog.append(f"Warmup completed {run.warmup.iterations} queries over {warm_up} ms")
    if wall_ms is not None:
        prolog.append(f"Timing trace has {len(compute)} queries over {number(wall_ms / 1e3)} s")
    return (
        *info(*prolog),
        *_trace(run, settings),
        *_summary(statistics, len(compute), wall_ms),
        *_warnings(statistics, compute, settings),
        *info("Explanations of the performance metrics are printed in the verbose logs.", ""),
        *(_explanations() if settings.arguments.has("--verbose") else ()),
    )


def wall_ms_of(run: Run) -> float | None:
    """Return the time the timed queries span on the GPU's clock."""
    if run.wall_ms is not None or run.trace is None:
        return run.wall_ms
    return float(run.trace.d2h_end[-1] - run.trace.h2d_start[0])


def unstable_from_pct(version: Version) -> float:
    """Return the coefficient of variance above which trtexec calls compute times unstable."""
    return 2.5 if version.at_least(10, 13, 2) else 1.0


def _trace(run: Run, settings: Settings) -> Iterator[Line]:
    size = settings.average_runs
    yield from info("", "=== Trace details ===", f"Trace averages of {size} runs:")
    series = [run.series(one) for one in ("gpu_compute", "trtexec_latency", "enqueue")]
    if any(one is None or len(one) != len(series[0] or ()) for one in series):
        return
    whole = len(series[0] or ()) // size  # blocks; an incomplete last one is skipped
    means = (
        one.values_ms[: whole * size].reshape(whole, size).mean(axis=1) for one in series if one
    )
    lines = [
        f"Average on {size} runs - GPU latency: {number(compute)} ms - Host latency: "
        f"{number(latency)} ms (enqueue {number(enqueue)} ms)"
        for compute, latency, enqueue in zip(*means, strict=True)
    ]
    version = settings.arguments.version
    ends = 200 if version.at_least(9, 3) else 300
    if version.at_least(9) and whole > 2 * ends:
        lines[ends:-ends] = [f"... Omitting {(whole - 2 * ends) * size} lines"]
    yield from info(*lines)


def _summary(
    statistics: dict[str, ReportedSummary], n: int, wall_ms: float | None
) -> Iterator[Line]:
    yield from info("", "=== Performance summary ===")
    if wall_ms:
        yield from info(f"Throughput: {number(1e3 * n / wall_ms)} qps")
    for metric, heading in HEADINGS.items():
        if (summary := statistics.get(metric)) is not None:
            names = {f"p{p:g}": f"percentile({p:g}%)" for p, _ in summary.percentiles}
            figures = ", ".join(
                f"{names.get(name, name)} = {number(value)} ms"
                for name, value in summary.figures.items()
                if value is not None
            )
            yield from info(f"{heading}: {figures}")
    if wall_ms is not None:
        yield from info(f"Total Host Walltime: {number(wall_ms / 1e3)} s")
    compute = statistics["gpu_compute"].mean_ms or 0.0
    yield from info(f"Total GPU Compute Time: {number(compute * n / 1e3)} s")


def _warnings(
    statistics: dict[str, ReportedSummary], compute: Samples, settings: Settings
) -> Iterator[Line]:
    launches, copies, clocks = _HINTS_FROM_11 if settings.arguments.version.major >= 11 else _HINTS
    median = statistics["gpu_compute"].median_ms or 0.0
    medians = {metric: one.median_ms or 0.0 for metric, one in statistics.items()}
    may_be = "Throughput may be bound by"
    idle = "rather than GPU Compute and the GPU may be under-utilized."
    if medians.get("enqueue", 0.0) > _MOST_ENQUEUE * median:
        yield from warning(f"* {may_be} Enqueue Time {idle}", launches)
    transfers = {"h2d": "host-to-device transfers for the inputs"}
    transfers["d2h"] = "device-to-host transfers for the outputs"
    for metric, bound in transfers.items():
        if settings.timing.transfers and medians.get(metric, 0.0) >= median:
            yield from warning(f"* {may_be} {bound} {idle}", copies)
    mean = float(compute.values_ms.mean())
    spread = 100 * float(np.std(compute.values_ms)) / mean if mean else 0.0
    if spread > unstable_from_pct(settings.arguments.version):
        text = f"* GPU compute time is unstable, with coefficient of variance = {number(spread)}%."
        yield from warning(text, clocks)
    if settings.timing.streams > 1:
        yield from warning(
            "* Multiple inference streams are used. Latencies may not be accurate since "
            'inferences may run in   parallel. Please use "Throughput" as the performance metric '
            "instead."
        )


#: The second lines of the warnings on launches, copies and clocks: they name flags of the version.
_HINTS = (
    (
        "  If not already in use, --useCudaGraph (utilize CUDA graphs where possible) may "
        "increase the throughput."
    ),
    "  Add --noDataTransfers flag to disable data transfers.",
    (
        "  If not already in use, locking GPU clock frequency or adding --useSpinWait may "
        "improve the stability."
    ),
)
_HINTS_FROM_11 = (
    "  If you are using --noCudaGraph, removing it may increase throughput.",
    (
        "  Consider removing --includeDataTransfers to disable data transfers and "
        "potentially increase throughput."
    ),
    "  If not already in use, locking GPU clock frequency may improve the stability.",
)


def _explanations() -> Iterator[Line]:
    yield Line("V", "=== Explanations of the performance metrics ===")
    for metric, heading in HEADINGS.items():
        yield Line("V", f"{heading}: {METRICS[metric].meaning}")
    yield Line("V", "Total Host Walltime: What the timed queries span on the GPU's clock.")
    yield Line("V", "Throughput: Queries divided by that span.")


def profile_lines(profile: Profile) -> tuple[Line, ...]:
    """Return the table of layer times; layers that took none are left out, as trtexec does."""
    timed = [one for one in profile.layers if one.total_ms]
    rows = [
        _row(one.name, one.total_ms, one.mean_ms, one.median_ms, one.share_pct) for one in timed
    ]
    sums = (
        sum(getattr(one, field) or 0.0 for one in profile.layers)
        for field in ("total_ms", "mean_ms", "median_ms")
    )
    head = f"{'Time(ms)':>11}{'Avg.(ms)':>13}{'Median(ms)':>13}{'Time(%)':>10}   Layer"
    title = f"=== Profile ({profile.iterations or 0} iterations ) ==="
    return info("", title, head, *rows, _row("Total", *sums, 100.0), "")


def layer_info_lines(inspector: Any) -> tuple[Line, ...]:
    """Return the layers and bindings, one layer a line, from the inspector's JSON values.

    One message, as in trtexec's log: only its first line gets the prefix.
    """
    layers = inspector.get("Layers", []) if isinstance(inspector, dict) else []
    bindings = inspector.get("Bindings", inspector.get("I/O Tensors", [])) if layers else []
    names = (one if isinstance(one, str) else str(one.get("Name", "")) for one in bindings)
    parts = ["Layers:", *(_layer(one) for one in layers), "", "Bindings:", *map(on_one_line, names)]
    return info("Layer Information:", "\n".join(parts))


def shape_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the shapes of every optimization profile, as far as they are known."""
    rows: list[tuple[str, int, tuple[tuple[int, ...] | None, ...]]] = [
        (one.tensor.name, profile.index, (profile.min_shape, profile.opt_shape, profile.max_shape))
        for one in (run.plan.inputs if run.plan else ())
        for profile in one.profiles
    ]
    for index, asked in enumerate(settings.profiles if not rows else ()):
        by_name = [{one.name: one.dims for one in shapes} for shapes in asked.roles]
        rows += [(name, index, tuple(dims[name] for dims in by_name)) for name in by_name[0]]
    texts = []
    for name, index, shapes in rows:
        low, best, high = (dims_text(one) if one is not None else "not known" for one in shapes)
        model_input = f"Model input {on_one_line(name)} (profile {index})"
        texts.append(f"{model_input}: min={low}, opt={best}, max={high}")
    return info("Optimization Profile Information:", *texts)


def _row(name: str, *figures: float | None) -> str:
    total, mean, median, share = (figure or 0 for figure in figures)
    return f"{total:11.2f}{mean:13.4f}{median:13.4f}{share:10.1f}   {on_one_line(name)}"


def _layer(layer: Any) -> str:
    if not isinstance(layer, dict):
        return on_one_line(str(layer))
    pairs = (f"{key}: {_value(value)}" for key, value in layer.items())
    return on_one_line(", ".join(pairs))


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        tensors = (", ".join(f"{key}: {_value(one[key])}" for key in one) for one in value)
        return "[ " + ", ".join(f"{{ {one} }}" for one in tensors) + "]"
    if isinstance(value, list):
        return "[" + ",".join(str(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


_LINE = re.compile(r"^\[[^\]]*\] \[([FEWIV])\] (\[TRT\] .*)$")
_LEVELS = {"F": "E", "E": "E", "W": "W", "I": "I", "V": "V"}


def library_lines(log: str, *, verbose: bool) -> Iterator[Line]:
    """Yield TensorRT's messages; what else the worker wrote only where `verbose`.

    Args:
        log: Messages with a prefix of time and level, and lines without.
    """
    for text in log.split("\n"):
        match = _LINE.match(text)
        if match is not None and (verbose or match[1] != "V"):
            yield Line(cast("Level", _LEVELS[match[1]]), on_one_line(match[2]))
        elif match is None and verbose and text.strip():
            yield Line("V", on_one_line(text))


def run_lines(run: Run, settings: Settings, texts: KeptTexts) -> tuple[Line, ...]:
    """Return the lines of a run that went well, or as far as it went and why it did not."""
    has = settings.arguments.has
    verbose = has("--verbose")
    # where nothing but a build was done, the worker's log is the build's once more
    is_repeated = run.phase_ms("load") is None and settings.skip_inference and texts.build_log
    engine = (
        *info("Loading standard plugins"),
        *outputs.parsing_lines(run),
        *library_lines(texts.build_log, verbose=verbose),
        *outputs.engine_lines(run, settings),
        *library_lines("" if is_repeated else texts.run_log, verbose=verbose),
    )
    if run.outcome.kind is not OutcomeKind.OK:
        message = run.outcome.message or f"the worker ended: {run.outcome.kind.value}"
        hint = [f"  try: {run.outcome.hint}"] if run.outcome.hint else []
        return (*engine, *error(message, *hint))
    layers = _layers(run, settings, texts.inspector)
    if settings.skip_inference:
        return (*engine, *layers, *info("Skipped inference phase since --skipInference is added."))
    # trtexec prints no notices on its figures
    notices = (f"* {one.message} ({one.code})" for one in run.notices if one.level == "warning")
    return (
        *engine,
        *outputs.graph_lines(run, settings),
        *outputs.binding_lines(run, settings),
        *layers,
        *info("Starting inference"),
        *performance_lines(run, settings),
        *warning(*map(on_one_line, notices)),
        *(outputs.output_lines(run.answers) if has("--dumpOutput") else ()),
        *(profile_lines(run.profile) if has("--dumpProfile") and run.profile else ()),
    )


def _layers(run: Run, settings: Settings, inspector: str | None) -> tuple[Line, ...]:
    lines: tuple[Line, ...] = ()
    if settings.arguments.has("--dumpLayerInfo"):
        try:
            lines += layer_info_lines(outputs.inspector_values(inspector))
        except EnginescopeError as problem:
            lines += warning(str(problem))
    if settings.arguments.has("--dumpOptimizationProfile"):
        lines += shape_lines(run, settings)
    return lines
