"""The answer of a lottery of builds, for terminal, Markdown, page and JSON alike."""

import math
from collections.abc import Iterator

from enginescope.analysis.verdicts.noise_floor import DISTURBANCES, MOST_FLOOR_PCT
from enginescope.core.units import format_bytes
from enginescope.judge.stats.nested_variance import VarianceComponent
from enginescope.judge.units import counted, format_ms, format_significant, format_span, signed
from enginescope.judge.verdict import rounded_up
from enginescope.records.notice import is_unstable
from enginescope.records.verdict.lottery import DrawnBuild, LayerDraw, LotteryReport
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart

_LEVEL_HEADERS = ("level", "standard deviation", "95 % CI", "share of a median's variance")
_BUILD_HEADERS = (
    *("build", "median", "to all", "build time", "engine"),
    *("device", "host", "outputs", "layers"),
)


def lottery_answer(report: LotteryReport) -> Answer:
    """Return the components, the builds, and layers with several tactics."""
    builds = TextTable(
        title="Builds",
        headers=_BUILD_HEADERS,
        rows=tuple(_build_cells(build, report) for build in report.builds),
        numbers=(*_BUILD_HEADERS[1:7], _BUILD_HEADERS[8]),
        note="outputs with one letter have the same bits; layers: how many build 1 does not have",
    )
    tables = _component_table(report), builds
    return Answer(
        verb="lottery",
        title="Lottery of builds",
        answer=_answer(report),
        facts=_facts(report),
        tables=(*tables, *_layer_table(report)),
        screen=(*tables, *_layer_table(report, 5)),
        notices=report.notices,
        report=report,
        charts=(_chart(report),),
    )


def _answer(report: LotteryReport) -> str:
    build, process, _ = report.components
    name = printable(report.model)
    rest = f"processes of one build vary by {_sd_text(process)}"
    if _is_open(build):
        return f"inconclusive whether builds of {name} differ: {rest}"
    if build.low_pct == 0:
        most = rounded_up(build.high_pct)
        return f"builds of {name} differ by at most {most} %, if at all: {rest}"
    return f"builds of {name} differ by {_sd_text(build)} (95 % CI {_interval_text(build)}); {rest}"


def _is_open(build: VarianceComponent) -> bool:
    """Whether the variation of processes hides that of builds."""
    return build.low_pct == 0 and not 0 < build.high_pct <= MOST_FLOOR_PCT


def _sd_text(component: VarianceComponent) -> str:
    return f"{_pct(component.sd_pct)} %"


def _interval_text(component: VarianceComponent) -> str:
    return f"{_pct(component.low_pct)} … {rounded_up(component.high_pct)} %"


def _pct(value: float) -> str:
    return "0" if value < 0.005 else format_significant(value, 2)


def _facts(report: LotteryReport) -> tuple[tuple[str, str], ...]:
    counts = (
        f"{len(report.builds)} builds × {report.processes} processes × {report.iterations:,} "
        f"iterations in {format_span(report.duration_s)}, interleaved"
    )
    costs = report.costs
    build, process = (format_significant(time_s, 3) for time_s in (costs.build_s, costs.process_s))
    iteration, best = format_ms(1e3 * costs.iteration_s, 3), report.best
    within = f", mean ± {_pct(best.half_width_pct)} %" if best.half_width_pct is not None else ""
    product = f"{counted(best.builds, 'build')} × {counted(best.processes, 'process', 'processes')}"
    product += f" × {counted(best.iterations, 'iteration')}"
    return stated(
        ("next", _next(report)),
        ("backend", f"{report.backend}; {counts}"),
        ("a build", _made(report)),
        ("evidence", report.evidence.value),
        ("outputs", _outputs(report)),
        ("tactics", _tactics(report)),
        ("costs", f"build {build} s, process {process} s, iteration {iteration}"),
        ("best", f"{product} in {format_span(best.duration_s)}{within}"),
    )


def _made(report: LotteryReport) -> str:
    if report.made == "optimized graph":
        return "the graph that ONNX Runtime optimizes, made anew in a process and stored"
    digest = report.spread.timing_cache_sha256
    if digest is None:
        return "an engine, built anew without engine cache and without timing cache"
    return f"an engine, built anew with the timing cache {digest[:12]}"


def _outputs(report: LotteryReport) -> str:
    letters = {build.outputs for build in report.builds if build.outputs is not None}
    if not letters:
        return ""
    drifting = sum(build.is_repeatable is False for build in report.builds)
    own = f"; processes of {counted(drifting, 'build')} differ too" if drifting else ""
    if len(letters) == 1:
        return f"identical bits in all builds{own}"
    gaps = [build.output_gap for build in report.builds if build.output_gap is not None]
    most = f"{max(gaps):.2g}" if all(map(math.isfinite, gaps)) else "names, shapes or NaNs"
    return f"{len(letters)} kinds in {len(report.builds)} builds, up to {most} from build 1{own}"


def _tactics(report: LotteryReport) -> str:
    if all(build.changed_layers is None for build in report.builds):
        return ""
    fused = report.regrouped_layers
    other = f"; {counted(fused, 'layer')} of build 1 fused otherwise" if fused else ""
    if not report.layers:
        return f"no layer changes its tactic{other}"
    costs = [layer.cost_ms for layer in report.layers if layer.cost_ms is not None]
    cost = f"; slowest less fastest {format_ms(sum(costs), 3)} in all" if costs else ""
    return f"{counted(len(report.layers), 'layer')} with several tactics{cost}{other}"


def _next(report: LotteryReport) -> str:
    build = report.component("build")
    is_disturbed = any(is_unstable(one) or one.code in DISTURBANCES for one in report.notices)
    if is_disturbed or _is_open(build):
        again = "measure again on an idle machine, in more processes (--processes)"
        return f"{again}; what disturbs it: enginescope doctor"
    if build.low_pct == 0:
        return "compare single builds; interleave processes (bench --compare)"
    if report.made == "engine" and report.spread.timing_cache_sha256 is None:
        return "compare several builds (upgrade --builds), or pin a timing cache (--timing-cache)"
    return "compare several builds (upgrade --builds)"


def _component_table(report: LotteryReport) -> TextTable:
    rows = tuple(
        (
            *(one.level, _sd_text(one), _interval_text(one)),
            UNKNOWN if one.share_pct is None else f"{one.share_pct:.0f} %",
        )
        for one in report.components
    )
    numbers = _LEVEL_HEADERS[1:]
    return TextTable(title="Variation", headers=_LEVEL_HEADERS, rows=rows, numbers=numbers)


def _build_cells(build: DrawnBuild, report: LotteryReport) -> tuple[str, ...]:
    sizes = (build.engine_bytes, build.device_bytes, build.host_bytes)
    return (
        str(build.number),
        format_ms(build.median_ms),
        f"{signed(100 * (build.median_ms / report.median_ms - 1), 2)} %",
        f"{format_significant(build.build_s, 3)} s",
        *(UNKNOWN if size is None else format_bytes(size) for size in sizes),
        build.outputs or UNKNOWN,
        UNKNOWN if build.changed_layers is None else str(build.changed_layers),
    )


def _layer_table(report: LotteryReport, top: int | None = None) -> Iterator[TextTable]:
    """Yield the layers whose tactic differs between builds, if any.

    Args:
        top: So many at most, each with its fastest and its slowest tactic.
    """
    shown = report.layers[:top]
    if shown:
        yield TextTable(
            title="Layers with several tactics",
            headers=("cost", "layer", "tactics"),
            rows=tuple(_layer_cells(layer, is_short=top is not None) for layer in shown),
            numbers=("cost",),
            sentences=("tactics",),
            left_out=len(report.layers) - len(shown),
            is_detail=True,
        )


def _layer_cells(layer: LayerDraw, *, is_short: bool) -> tuple[str, str, str]:
    cost = UNKNOWN if layer.cost_ms is None else format_ms(layer.cost_ms, 3)
    tactics = []
    for choice in layer.tactics:
        time = "" if choice.mean_ms is None else f"{format_ms(choice.mean_ms, 3)}, "
        word = "build" if len(choice.builds) == 1 else "builds"
        builds = ", ".join(map(str, choice.builds))
        tactics.append(f"{printable(choice.tactic)} ({time}{word} {builds})")
    if is_short and len(tactics) > 3:
        tactics[1:-1] = [f"{len(tactics) - 2} others"]
    return cost, printable(layer.layer), "\n".join(tactics)


def _chart(report: LotteryReport) -> Chart | None:
    builds = [
        Estimate(
            name=f"build {build.number}",
            value=build.median_ms,
            kind="build",
            low=min(build.medians_ms),
            high=max(build.medians_ms),
        )
        for build in report.builds
    ]
    return estimate_chart(
        "lottery_builds",
        "Latency of each build",
        builds,
        axis="median latency, ms",
        reference=report.median_ms,
        lines="fastest to slowest process",
        dashed="all builds",
    )
