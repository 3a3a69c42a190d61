"""A suite's page and screens."""

import html

import pytest

from enginescope.core.record import replace
from enginescope.records.notice import UNSTABLE
from enginescope.records.suite.suite import CellStatus
from enginescope.render.base.text import as_text, stacked
from enginescope.render.suites import suite_answer
from enginescope.render.suites.suite_page import matrix_table, suite_page
from tests.suites.made import cell, result, row, timed

EVIL = "<script>alert(1)</script>"
CUDA = [("CUDAExecutionProvider", 90, 3.0), ("CPUExecutionProvider", 10, 1.0)]


def zoo(count: int = 2):
    made = []
    for at in range(count):
        made.append(timed(cell(f"net{at}"), 20.0 + at))
        made.append(timed(cell(f"net{at}", "ort-cuda"), 5.0, providers=CUDA))
    made.append(row(cell(EVIL), CellStatus.CRASHED, reason=EVIL))
    made.append(row(cell(EVIL, "ort-cuda"), CellStatus.UNSUPPORTED))
    return result(made, cells=[*(one.cell for one in made), cell("late")])


def test_the_page_reads_without_scripts(monkeypatch) -> None:
    text, body = suite_page(zoo()).decode(), body_of(zoo())
    assert EVIL not in text
    assert "7 cells: 4 ok, 1 crashed, 1 unsupported, 1 not done" in body
    for said in ("5.00 ms · 4.00 ×", "20.0 ms", "unsupported", "not done", "late", "Conditions"):
        assert said in body
    assert "://" not in body.partition("Licenses of the JavaScript")[0]
    assert '<td data-of="why" class="sentence">' in text
    monkeypatch.setattr("enginescope.render.suites.suite_page._CARRIED_BYTES", 2_000)
    lies_beside = "Too long for this page: results.csv and cells.csv, next to it."
    assert lies_beside in suite_page(zoo()).decode()


def body_of(made) -> str:
    """Return the page without the data that it carries."""
    return suite_page(made).decode().partition('<template id="report-data"')[0]


def test_how_many_processes_a_cell_has_is_said_where_it_is_not_one() -> None:
    cells = cell("net", processes=3), cell("net", "ort-cuda", processes=3)
    rows = [
        timed(one, ms, runs=("r0", "r1", "r2")) for one, ms in zip(cells, (20.0, 5.0), strict=True)
    ]
    several = result(rows, processes=3)
    for said in ("3 processes a cell", "medians of 3 processes a side", "3 a cell"):
        assert said in body_of(several)
    assert (
        suite_answer.suite_tables(several)[0].title
        == "latency (median of 3 processes) and speed-up"
    )
    once = suite_page(zoo()).decode()
    assert "processes a cell" not in once
    assert "medians of one process a side" in once
    assert suite_answer.suite_tables(zoo())[0].title == "latency (median) and speed-up"


def test_copies_and_advice_are_on_the_page_where_they_apply() -> None:
    copies = {"device_latency": 1.5, "copies": 0.5}
    made = result([timed(cell("a", "ort-cuda"), 2.0, figures=copies), timed(cell("a"), 1.0)])
    assert "without copies, ms" in suite_page(made).decode()
    assert "copies, ms" not in suite_page(result([timed(cell("b"), 1.0)])).decode()
    alone = result([timed(cell("a"), 2.0)])
    assert "--mode both" in suite_page(alone).decode()
    suite = replace(alone.plan.suite, mode="both")
    both = suite_page(replace(alone, plan=replace(alone.plan, suite=suite))).decode()
    assert "--mode both" not in both
    assert "No model has outputs compared and times measured on two backends." in both


def test_the_matrix_has_classes_and_says_what_was_not_asked_for() -> None:
    specs = ("ort-cpu", "trt", "fake", "ort-cuda", "ort-trt")
    made = result([timed(cell("m", spec), 2.0**at) for at, spec in enumerate(specs)])
    grid = matrix_table(made, {})
    assert [one.looks for one in grid.columns if one.looks] == [
        (look,) for look in ("best", "far", "slow", "slow", "slowest")
    ]
    lines = suite_answer.matrix(result([timed(cell("a"), 2.0), timed(cell("b", "fake"), 1.0)]))
    asked = [[one.is_asked for one in line.cells] for line in lines]
    assert asked == [[True, False], [False, True]]


def test_what_weakens_figures_is_said_and_marked() -> None:
    loud = timed(cell("a"), 2.0, warnings=("W-LOAD", "W-OUTLIERS"), is_unstable=True)
    quiet = timed(cell("b"), 2.0, warnings=("W-OUTLIERS",))
    assert suite_answer.weakness_sentence(result([timed(cell("c"), 1.0)])) is None
    said = suite_answer.weakness_sentence(result([loud, quiet]))
    assert said.startswith(f"warnings in 2 cells: W-OUTLIERS 2, W-LOAD 1; !: {UNSTABLE}")
    assert body_of(result([loud, quiet])).count(f"</strong> every cell is ok; {said}") == 1
    grid = matrix_table(result([loud, quiet]), {})
    assert grid.columns[-1].meaning == f"{loud.cell.spec}; !: {UNSTABLE}"
    assert matrix_table(result([quiet]), {}).columns[-1].meaning == quiet.cell.spec
    lines = suite_answer.matrix(result([loud, quiet]))
    assert [suite_answer.cell_text(line.cells[0]) for line in lines] == ["2.00 ms !", "2.00 ms"]


def test_screens_fit_and_group_what_fails_alike() -> None:
    many = ["ort-cuda", "ort-trt:fp16", "trt:fp16", "trtexec:int8", "ort-cpu"]
    made = result(
        [row(cell(f"model{at}", one), CellStatus.UNSUPPORTED) for at in range(12) for one in many]
    )
    tables = suite_answer.suite_tables(made)
    grid = next(one for one in tables if one.headers[0] == "model")
    assert grid.title == "status"  # no latency, and no answers were asked for
    assert list(grid.headers[1:]) == many
    lines = [as_text(one, width=60).splitlines() for one in stacked([grid], 60)]
    assert max(len(line) for part in lines for line in part) <= 60
    assert sum("model " in part[0] for part in lines if part) > 1  # several tables
    failing = next(one for one in tables if one.headers[0] == "status")
    assert len(failing.rows) == 1  # one reason: its backends and models together
    assert "4 more" in failing.rows[0][1]


def test_reasons_of_one_shape_are_one_line_on_the_screen_and_on_the_page() -> None:
    def why(spec: str, model: str) -> str:
        name = {"ort-cuda": "CUDA", "ort-trt": "Tensorrt"}[spec]
        return f"{name}ExecutionProvider is not in this ONNX Runtime: {model}.onnx, 1.{len(model)}"

    made = [
        row(cell(model, spec), CellStatus.UNSUPPORTED, reason=why(spec, model))
        for model in ("a", "net", "large")
        for spec in ("ort-cuda", "ort-trt")
    ]
    made += [row(cell("net"), CellStatus.FAILED, reason="another reason altogether")]
    made += [row(cell("a"), CellStatus.TIMED_OUT, reason="did not end within 4 s")]
    made += [row(cell("large", "trt"), CellStatus.TIMED_OUT, reason="did not end within 20 s")]
    suite = result(made)
    (failing,) = (one for one in suite_answer.suite_tables(suite) if one.headers[0] == "status")
    assert [status for status, _ in failing.rows] == ["unsupported", "failed", "timed out"]
    first, _, last = (text for _, text in failing.rows)
    assert first.startswith("ort-cuda, ort-trt · a, net, large\n")
    assert first.endswith("5 more, with other names or numbers")
    assert last.startswith("ort-cpu · a, trt · large\n")  # not trt · a, which did not fail
    assert suite_page(suite).decode().count("with other names or numbers") == 2


LONG = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
TUNED = ("ort-cpu", f"trt?{LONG}", f"trt:fp16?{LONG}")


def tuned():
    made = [timed(cell("a", spec), 3.0 - at) for at, spec in enumerate(TUNED[:2])]
    made.append(row(cell("a", TUNED[2]), CellStatus.CRASHED))
    return result(made)


def test_options_that_backends_share_are_said_once() -> None:
    said = "options of all trt: tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT & builder_optimization"
    assert suite_answer.options_sentence(tuned()).startswith(said)
    tables = suite_answer.suite_tables(tuned())
    assert tables[0].headers == ("model", "ort-cpu", "trt", "trt:fp16")
    assert tables[1].rows[0][1].startswith("trt:fp16 · a")
    body = html.unescape(body_of(tuned()))
    assert f'<p class="quiet">O{said[1:]}' in body
    grid = body[body.index('id="table-matrix"') : body.index('<section id="accuracy">')]
    assert ">trt:fp16<" in grid
    assert ">trt:fp16?tactic_sources" not in grid
    assert TUNED[2] in body[body.index('<section id="failures">') :]


def test_long_backends_go_by_their_name_or_are_shortened() -> None:
    made = result([timed(cell("a", one), 1.0) for one in TUNED[:2]])
    assert (suite_answer.options_sentence(made) or "").startswith("options of trt: tactic_sources=")
    assert list(suite_answer.backend_names(made).values()) == ["ort-cpu", "trt + 2 options"]
    specs = [f"{TUNED[1]}&timing_cache={name}" for name in ("x" * 40, "y" * 40)]
    made = result([timed(cell("a", one), 1.0) for one in specs])
    names = list(suite_answer.backend_names(made).values())
    assert [len(one) for one in names] == [34, 34]
    assert len(set(names)) == 2


@pytest.mark.browser
def test_two_thousand_cells_in_a_browser(tab, tmp_path) -> None:
    page = tmp_path / "suite.html"
    page.write_bytes(suite_page(zoo(1_000)))
    tab.open(page)
    heading = tab.evaluate("document.querySelector('h1').textContent")
    assert heading.startswith("ort-cuda is fastest for 1,000 of 1,000 models (4.00")
    rows = "document.querySelectorAll('#table-matrix tbody tr:not(.spacer)').length"
    assert tab.evaluate(rows) <= 300  # of 1,002, as printing does
    assert tab.requests() == [page.as_uri()]
    assert tab.complaints() == []
