"""The matrix of a suite: who is fastest, what a click opens, what sorts, filters and scrolls."""

import math

import pytest

from enginescope.analysis.suites.suite_table import wins
from enginescope.core.record import replace
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.render.suites.suite_answer import next_steps, suite_answer
from enginescope.render.suites.suite_page import matrix_table, suite_page
from enginescope.render.suites.suite_pareto import pareto_charts
from tests.suites.made import cell, result, row, timed


def of(model: str, spec: str, ms: float, pct: float = 1.0, error: float | None = None, **more):
    reach = ms * pct / 100
    figures = {"latency_low": ms - reach, "latency_high": ms + reach}
    if error is not None:
        figures["max_abs_error"] = error
    return timed(cell(model, spec, **more), ms, figures=figures)


def shown(made: SuiteResult) -> dict[str, str]:
    """Return the first line of the matrix, by column."""
    return {column.title: column.text(0) for column in matrix_table(made, {}).columns}


def test_the_fastest_is_named_with_its_margin_and_interval() -> None:
    rows = [of("a", "ort-cpu", 4.0), of("a", "trt", 1.0), of("a", "ort-cuda", 2.0)]
    made = result([replace(each, runs=("r0", "r1", "r2")) for each in rows])
    (win,) = wins(made)
    assert (win.fastest.cell.spec, win.second and win.second.cell.spec) == ("trt", "ort-cuda")
    # both reach 1 % from their medians: √2 of that, on the logarithmic scale
    assert (round(win.interval.low, 4), round(win.interval.high, 4)) == (1.9719, 2.0285)
    said = suite_answer(made)
    assert said.fastest == "trt is fastest for a (2.00 × as fast as ort-cuda, 95 % CI 1.97 … 2.03)"
    assert said.failed is None

    (single,) = wins(result(rows))  # one process a side: 5 % are assumed for each, as compare does
    reach = math.hypot(math.log(1.05), math.log(1.05), math.log(2.0285 / 2))
    assert single.interval.high == pytest.approx(2 * math.exp(reach), rel=1e-3)


def test_what_intervals_leave_open_is_inconclusive() -> None:
    made = result([of("a", "ort-cpu", 1.02, 3), of("a", "trt", 1.0, 3)])
    assert not wins(made)[0].is_decided
    assert suite_answer(made).fastest.startswith("Inconclusive for a: trt is 1.02 × as fast")
    assert shown(made)["fastest"] == "inconclusive"
    looks = {column.looks for column in matrix_table(made, {}).columns if column.looks}
    assert looks == {("plain",)}
    command = "enginescope bench /zoo/a.onnx --on ort-cpu --on trt --compare"
    assert tuple(next_steps(made)) == (f"decide a: {command}",)
    line = shown(result([of("a", "ort-cpu", 4.0, error=0.0), of("a", "trt", 1.0, error=1.23e-6)]))
    assert line["ort-cpu"] == "4.00 ms · error 0"
    assert line["trt"] == "1.00 ms · 4.00 × · error 1.2e-06"


def test_an_interval_that_is_not_known_decides_nothing() -> None:
    """A suite said that one thread is 2.4 × as fast; a comparison found it 1.6 × slower."""
    made = result([timed(cell("a"), 2.0), timed(cell("a", "trt"), 1.0)])
    assert "interval not known" in suite_answer(made).fastest
    busy = replace(of("a", "trt", 1.0), is_unstable=True)
    made = result([of("a", "ort-cpu", 2.4), busy])
    assert wins(made)[0].interval is None
    said = "Inconclusive for a: trt is 2.40 × as fast as ort-cpu, interval not known"
    assert suite_answer(made).fastest == f"{said}, on a busy machine"
    several = replace(busy, runs=("r0", "r1", "r2"))
    assert wins(result([of("a", "ort-cpu", 2.4), several]))[0].is_decided


def test_wrong_outputs_and_failures_do_not_win() -> None:
    wrong = row(cell("a", "trt"), CellStatus.WRONG, figures={"latency": 0.1}, reason="12 % differ")
    made = result([of("a", "ort-cpu", 2.0), of("a", "ort-cuda", 1.0), wrong])
    assert wins(made)[0].fastest.cell.spec == "ort-cuda"
    assert suite_answer(made).failed == "Of 3 cells, 1 wrong: 12 % differ."
    assert suite_answer(result([], cells=[cell("a")])).fastest == "No cell has ended"
    crashed = result([row(cell("a"), CellStatus.CRASHED, reason="signal 11")])
    assert suite_answer(crashed).fastest == "No latency in 1 cell"
    assert suite_answer(crashed).failed == "Of 1 cell, 1 crashed: signal 11."


def test_fp16_that_runs_as_fp32_does_not_win_and_its_cells_say_so() -> None:
    """On a CPU, `:fp16` was the fastest backend of models that it computes in FP32."""
    lost = replace(of("a", "ort-cpu:fp16", 1.0), warnings=("W-NOT-FP16",))
    made = result([of("a", "ort-cpu", 4.0), lost, of("a", "ort-cuda", 2.0)])
    assert wins(made)[0].fastest.cell.spec == "ort-cuda"
    fastest = suite_answer(made).fastest
    assert fastest.startswith("ort-cuda is fastest for a (2.00 × as fast as ort-cpu")
    assert fastest.endswith("; not ranked, since FP16 runs as FP32: 1 cell of ort-cpu:fp16")
    assert shown(made)["ort-cpu:fp16"] == "1.00 ms · 4.00 × · not FP16"
    assert wins(result([lost]))[0].fastest.cell.spec == "ort-cpu:fp16"


def test_models_are_not_counted_as_cells() -> None:
    """A suite of 3 models in 6 cells had the title "6 models measured"."""
    rows = [of(f"m{at}", "ort-cpu", 1.0, batch=batch) for at in range(3) for batch in (1, 8)]
    said = "3 models in 6 cells measured, none on two backends that can be ranked"
    assert suite_answer(result(rows)).fastest == said
    assert suite_answer(result(rows[::2])).fastest.startswith("3 models measured, ")


def test_many_and_few_models_are_counted_by_their_winner() -> None:
    """The title of three models had all their margins and intervals, three lines long."""
    rows = [of(f"m{at}", "ort-cpu", 10.0) for at in range(5)]
    rows += [of(f"m{at}", "trt", 5.0 - at) for at in range(5)]
    rows += [of("slow", "ort-cpu", 1.0), of("slow", "trt", 2.0)]
    assert suite_answer(result(rows)).fastest == (
        "trt is fastest for 5 of 6 models (2.00 … 10.0 × as fast as ort-cpu, by model; "
        "at least 1.86 × by the 95 % CI), ort-cpu for 1 (2.00 ×)"
    )
    assert "the next backend" in suite_answer(result([*rows, of("m0", "ort-cuda", 9.0)])).fastest
    rows = [of(model, spec, ms) for model in "ab" for spec, ms in (("ort-cpu", 9.0), ("trt", 1.0))]
    lead = [of("c", "trt", 2.0), of("c", "ort-cpu", 2.0 * 1.001), of("d", "trt", 1.0)]
    assert suite_answer(result([*rows, *lead])).fastest == (
        "trt is fastest for 2 of 4 models (9.00 × as fast as ort-cpu; "
        "at least 8.39 × by the 95 % CI), inconclusive for 1, only one backend for 1"
    )
    command = "enginescope compare rb-ort-cpu-N rb-trt-None"
    assert tuple(next_steps(result(rows))) == (f"what explains the lead for b: {command}",)


def test_fp16_that_runs_as_fp32_is_not_ranked() -> None:
    lost = replace(of("a", "ort-cpu:fp16", 9.0, error=1e-3), warnings=("W-NOT-FP16",))
    others = of("a", "ort-cpu", 8.0, error=0.0), of("a", "trt:fp16", 9.5, error=1e-4)
    (chart,) = pareto_charts(result([lost, *others]))
    assert {line[0]: line[4] for line in chart.table.rows} == {
        "ort-cpu": "no backend is faster and closer",
        "ort-cpu:fp16": "not FP16, so not ranked",
        "trt:fp16": "beaten in both",
    }


def test_the_line_joins_what_no_backend_beats_in_both() -> None:
    made = result(
        [
            of("a", "ort-cpu", 8.0, error=0.0),
            of("a", "trt:fp16", 1.0, error=1e-2),
            of("a", "ort-cuda:fp16", 2.0, error=2e-2),
            of("a", "ort-cuda", 4.0, error=1e-6),
            of("b", "ort-cpu", 8.0),
        ]
    )
    (chart,) = pareto_charts(made)
    beaten = {line[0]: line[4] == "beaten in both" for line in chart.table.rows}
    assert [name for name, is_beaten in beaten.items() if is_beaten] == ["ort-cuda:fp16"]
    assert len(beaten) == 4
    drawn = chart.spec["layer"][-1]["data"]["values"]
    assert {one["drawn"] for one in drawn if one["error"] == 0} == {1e-7}  # a tenth of the least
    ticks = chart.spec["layer"][-1]["encoding"]["y"]["axis"]["values"]
    assert ticks == pytest.approx([1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])  # the first is labelled 0


def zoo() -> SuiteResult:
    rows = []
    for at in range(20):
        model = f"net{at:02}"
        rows += [of(model, "ort-cpu", 40.0 - at, error=0.0)]
        rows += [of(model, "trt:fp16", 1.0 + at, error=1e-3)]
        rows += [of(model, "trt:int8", 2.0 + at, error=5e-2)]
    rows[11] = row(cell("net03", "trt:int8"), CellStatus.OUT_OF_MEMORY, reason="4 GiB")
    return result(rows)


@pytest.fixture
def tab(tab, tmp_path):
    page = tmp_path / "suite.html"
    page.write_bytes(suite_page(zoo()))
    tab.open(page)
    yield tab
    assert tab.complaints() == []


LINES = "[...document.querySelectorAll('#table-matrix tbody tr:not(.spacer)')]"
MODELS = f"{LINES}.map((line) => line.cells[0].textContent)"


@pytest.mark.browser
def test_a_cell_opens_what_is_known_of_its_run(tab) -> None:
    panel = "document.getElementById('cell')"
    address = tab.evaluate("location.href")
    assert not tab.evaluate(f"{panel}.open")
    tab.evaluate(f"{LINES}[3].querySelectorAll('a')[2].click()")  # the one that failed
    tab.until(f"{panel}.open")
    assert tab.evaluate(f"{panel}.querySelector('h2').textContent") == "net03 · trt:int8"
    assert "4 GiB" in tab.evaluate(f"{panel}.textContent")
    assert tab.evaluate("location.hash").startswith("#cell-net03")
    tab.evaluate("location.hash = '#cell-net04-trt:fp16-None'")
    tab.until(f"{panel}.querySelector('h2').textContent === 'net04 · trt:fp16'")
    said = tab.evaluate(f"[...{panel}.querySelectorAll('code')].map((one) => one.textContent)")
    assert said == ["enginescope report rnet04-trt:f"]
    escape = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
    tab.send("Input.dispatchKeyEvent", type="keyDown", **escape)
    tab.send("Input.dispatchKeyEvent", type="keyUp", **escape)
    tab.until(f"!{panel}.open && location.hash === ''")
    tab.visit(f"{address}#cell-net07-ort-cpu-None")  # it is found again by its address
    tab.until(f"{panel}?.open")
    assert tab.evaluate(f"{panel}.querySelector('h2').textContent") == "net07 · ort-cpu"


@pytest.mark.browser
def test_the_matrix_sorts_and_filters(tab) -> None:
    assert tab.evaluate(MODELS)[:2] == ["net00", "net01"]
    head = "[...document.querySelectorAll('#table-matrix thead button')]"
    tab.evaluate(f"{head}.find((one) => one.textContent === 'ort-cpu').click()")
    assert tab.evaluate(MODELS)[0] == "net00"  # falling
    tab.evaluate(f"{head}.find((one) => one.textContent === 'ort-cpu').click()")
    assert tab.evaluate(MODELS)[0] == "net19"
    tab.evaluate("document.querySelector('#table-matrix input[type=checkbox]').click()")
    assert tab.evaluate(MODELS) == ["net03"]
    tab.evaluate("document.querySelector('#table-matrix input[type=checkbox]').click()")
    field = "document.querySelector('#table-matrix input[type=search]')"
    tab.evaluate(f"{field}.value = 'net1'; {field}.dispatchEvent(new Event('input'))")
    assert len(tab.evaluate(MODELS)) == 10


@pytest.mark.browser
@pytest.mark.parametrize("width", [1920, 1280, 800, 420])
def test_columns_that_do_not_fit_scroll_under_the_first(tab, width: int) -> None:
    tab.resize(width, 900)
    tab.evaluate("document.querySelector('#table-matrix .rows').scrollLeft = 1e6")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = f"{LINES}[0].cells[0].getBoundingClientRect()"
    box = "document.querySelector('#table-matrix .rows').getBoundingClientRect()"
    assert abs(tab.evaluate(f"{first}.left - {box}.left")) <= 2
    assert tab.evaluate(f"{first}.width") < 0.6 * width
