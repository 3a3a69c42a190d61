"""How many kinds of chart all pages have together: a reader learns each once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.render.charts.card.registry import PLAN_CHARTS
from enginescope.render.charts.distribution import latency_distribution, percentiles
from enginescope.render.charts.overlay import process_medians, side_distributions
from enginescope.render.charts.series import latency_series, memory_series
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.html.answer_page import written_page
from enginescope.render.html.images import Chart
from enginescope.render.ladder.ladder_answer import ladder_answer
from enginescope.render.load.load_answer import load_answer
from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer
from enginescope.render.shapes.shapes_answer import shapes_answer
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.lottery_answer import lottery_answer
from tests.analysis.card_plans import small_view
from tests.analysis.in_turn import in_turn, named
from tests.render.every_page import write_pages
from tests.render.gpu_runs import gpu_run
from tests.render.load.load_reports import searched, single
from tests.render.runs import imported_run
from tests.render.sensitivity import test_sensitivity_files as sensitivity
from tests.render.shapes import test_shapes_files as shapes
from tests.render.verdicts import test_ladder_files as ladder
from tests.render.verdicts import test_lottery_files as lottery
from tests.render.verdicts import test_tune_files as tune

#: Lines, words, ticks and bands that explain what other marks show.
NOTES = {"rule", "text", "tick"}
#: Pages draw these two on a canvas; a server's home draws a line and an interval as SVG.
CANVASES = ("icicle", "graph")

Form = frozenset[tuple[str, ...]]


def layers_of(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (*spec.get("layer", ()), *spec.get("vconcat", ())):
        yield from layers_of(part)
    if "mark" in spec:
        yield spec


def form_of(spec: dict[str, Any]) -> Form:
    """Return the marks that show data, what their axes are, and whether bars begin anywhere."""
    found = set()
    for layer in layers_of(spec):
        mark = layer["mark"]["type"] if isinstance(layer["mark"], dict) else layer["mark"]
        channels = layer["encoding"]
        axes = sorted(
            "rows" if channels.get(name, {}).get("type") in ("nominal", "ordinal") else "scale"
            for name in "xy"
        )
        has_ends = bool({"x2", "y2"} & channels.keys())
        is_note = mark in NOTES or (mark == "rect" and has_ends)
        if not is_note:
            found.add((mark, *axes, *(["ends"] if has_ends and mark == "bar" else [])))
    return frozenset(found)


def charts() -> Iterator[Chart | None]:
    """Yield the charts of notebooks and of runs."""
    run, view = RunView(imported_run()), small_view()
    for make in (latency_distribution, latency_series, percentiles):
        yield make(run)
    yield memory_series(run)
    yield from telemetry_charts([RunView(gpu_run())])
    for one in PLAN_CHARTS.values():
        yield one.make(view)
    sides = compare_sides(named(*in_turn(1.3)))
    yield from (*side_distributions(sides), process_medians(sides))


def pages(folder: Path) -> None:
    """Make a page of each kind."""
    write_pages(folder)
    answers = (
        load_answer(searched()),
        load_answer(single()),
        shapes_answer(shapes.report()),
        ladder_answer(ladder.report()),
        lottery_answer(lottery.report()),
        tune_answer(tune.report()),
        sensitivity_answer(sensitivity.report()),
    )
    for answer in answers:
        written_page(answer)


def test_all_pages_have_at_most_twelve_kinds_of_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[Form, set[str]] = {}

    def note(chart: Chart) -> None:
        made.setdefault(form_of(chart.spec), set()).add(chart.key)

    complete = Chart.complete
    monkeypatch.setattr(
        Chart, "complete", lambda self, **options: note(self) or complete(self, **options)
    )
    pages(tmp_path)
    for chart in charts():
        if chart is not None:
            note(chart)
    keys = {key for named_so in made.values() for key in named_so}
    assert {"waterfall", "latency_hist", "latency-per-type", "roofline"} <= keys
    assert len(made) + len(CANVASES) <= 12, made
