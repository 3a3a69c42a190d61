import io
import re

import pytest
from rich.console import Group

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.samples import ReportedSummary
from enginescope.render.base.facts import subject_names
from enginescope.render.base.text import as_text, notice_lines, runs_table, show, summary, table
from tests.render.runs import failed_run, imported_run, measured_run
from tests.render.screen import summary_text


def normalised(text: str) -> str:
    """Figures replaced by N, so that the shape of the screen is what is compared."""
    return re.sub(r"\d[\d,]*(\.\d+)?", "N", text)


def test_screen_of_a_measured_run() -> None:
    text = summary_text(RunView(measured_run(notices=(), profile=None)), width=110)
    lines = [line for line in text.splitlines() if "!" not in line]
    assert lines[0].startswith("squeezenet.onnx · ort-cpu fp32 · batch 1 · 1×3×227×227  ")
    assert lines[0].endswith("AMD EPYC, 2 cores")
    assert len(lines[0]) == 110
    shape = normalised("\n".join(lines))
    assert "  latency    N ms median   N % CI N … N ms, n N (effective N)" in shape
    assert "pN N ms (N % CI N … N ms)" in shape
    assert "             min N ms   mean N ms, SD N ms (CV N %)   max N ms" in shape
    assert "  throughput N items/s   (batch ÷ mean latency, N ms)" in shape
    assert "  start      N ms load · N ms first inference   N MiB peak until the loop" in shape
    assert "  run 7f3ac019\n" in text


def test_what_is_no_whole_request_is_said_to_be_what_it_is() -> None:
    run = imported_run()
    assert "latency (trtexec)" not in summary_text(RunView(measured_run())).lower()
    summed = summary_text(RunView(run), width=80).splitlines()
    at = next(i for i, line in enumerate(summed) if line.startswith("  latency    "))
    words = " ".join(" ".join(summed[at : at + 8]).split())
    assert "Latency (trtexec): H2D + GPU compute + D2H durations, summed; queries may" in words
    compute = summary_text(RunView(replace(run, samples=run.samples[1:])), width=80)
    assert "  compute    " in compute
    assert "  latency    " not in compute
    assert "GPU compute time: between the events around the enqueue" in compute


def test_series_beside_the_headline_have_lines_measured_or_printed() -> None:
    run = imported_run()
    half = replace(run.samples[1], metric="h2d", values_ms=run.samples[1].values_ms / 2)
    still = replace(half, metric="d2h", values_ms=half.values_ms * 0)
    enqueue = ReportedSummary(metric="enqueue", median_ms=0.002, max_ms=0.01)
    none = ReportedSummary(metric="d2h", median_ms=0.0, max_ms=0.0)
    tool = replace(run.tool, summaries=(*run.tool.summaries, enqueue, none))
    measured = replace(run, samples=(*run.samples, half, still), tool=tool)
    text = summary_text(RunView(measured), width=300)
    lines = {line[:12].strip(): line for line in text.splitlines() if line.startswith("  ")}
    shape = "N ms median   N % CI N … N ms   pN N ms"
    assert normalised(lines["compute"]).startswith(f"  compute    {shape}")
    assert normalised(lines["compute"]).endswith("mean N ms   min N ms   max N ms")
    assert normalised(lines["H2D"]).startswith(f"  HND        {shape}")
    stated = "0.002000 ms median   max 0.01000 ms"
    assert lines["enqueue"].endswith(f"{stated}   as printed, no interval")
    assert "D2H" not in lines
    assert f"{stated}\n" in summary_text(RunView(replace(measured, samples=())), width=300)


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("make", [measured_run, failed_run, imported_run])
def test_no_line_is_wider_than_asked(make, width) -> None:
    text = summary_text(RunView(make()), width=width)
    assert max(len(line) for line in text.splitlines()) <= width


def test_sums_of_layers_and_weak_percentiles_say_what_they_lack() -> None:
    values = measured_run().samples[0].values_ms[:120]
    few = replace(measured_run().samples[0], values_ms=values, start_ms=None, warmup_ms=None)
    text = summary_text(RunView(measured_run(samples=(few,))))
    assert re.search(r"p99 [\d.]+ ms \(\d+ of 459 effective samples needed\)", text)
    text = " ".join(summary_text(RunView(measured_run())).split())
    view = RunView(measured_run())
    assert view.layer_sum_ratio is not None
    assert view.layer_sum_ratio > 1
    assert "The layers add up to 4.508 ms (sum of layer medians" in text
    assert "more than the median latency of" in text


def test_screen_of_a_failed_run_and_of_one_without_samples() -> None:
    text = summary_text(RunView(failed_run()))
    assert "  outcome    crashed (signal 11)" in text
    assert "  why        the worker died while loading the model" in text
    assert "  next       run it with --verbose" in text
    assert "  | Fatal Python error: Segmentation fault" in text
    assert "median" not in text
    assert "none: this run has no samples" in summary_text(RunView(measured_run(samples=())))


def test_notices_carry_a_mark_and_their_code_and_brackets_stay() -> None:
    text = summary_text(RunView(measured_run()))
    assert "  ! other load: 0.8 of 2 cores busy (W-LOAD)" in text
    assert "  · data: batch became 1 (I-DYNAMIC-SHAPE)" in text
    assert text.index("W-LOAD") < text.index("I-DYNAMIC-SHAPE")
    job = Job(subject=Subject(name="[red]x[/red].onnx"), backend=BackendSpec(name="ort-cpu"))
    notice = Notice(code="W-X", message="input [bold]data[/bold]")
    text = summary_text(RunView(measured_run(job=job, notices=(notice,))))
    assert "[red]x[/red].onnx" in text
    assert "[bold]data[/bold]" in text


def test_colour_only_when_asked_and_not_for_a_stream_that_is_no_terminal() -> None:
    view = RunView(measured_run())
    assert "\x1b[" not in summary_text(view)
    colored = summary_text(view, color=True)
    assert "\x1b[" in colored
    plain = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in plain.splitlines()] == summary_text(view).splitlines()
    stream = io.StringIO()
    show(summary(RunView(measured_run()), width=80), stream)
    assert "\x1b[" not in stream.getvalue()
    assert "squeezenet.onnx" in stream.getvalue()


def test_a_narrow_screen_keeps_what_does_not_fit_under_its_label() -> None:
    lines = summary_text(RunView(measured_run(notices=(), profile=None)), width=40).splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  latency"))
    last = next(at for at, line in enumerate(lines) if line.startswith("  start"))
    assert max(map(len, lines[first : last + 2])) <= 40
    for line in lines[first + 1 : last]:
        assert line.startswith(("  throughput", " " * 13)) or not line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("told", "has_color"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, False)],
)
def test_colour_only_where_a_terminal_has_it_and_it_is_wanted(told, has_color, monkeypatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **told}.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    show(summary(RunView(measured_run())), stream)
    assert ("\x1b[" in stream.getvalue()) is has_color


def test_several_runs_are_a_row_each() -> None:
    few = replace(
        measured_run().samples[0],
        values_ms=measured_run().samples[0].values_ms[:120],
        start_ms=None,
    )
    views = [
        RunView(measured_run()),
        RunView(failed_run()),
        RunView(measured_run(id="cafe0123", samples=(few,))),
    ]
    text = as_text(runs_table(views), width=120)
    rows = {line[:6]: line for line in text.splitlines()}
    assert re.search(r"4\.\d+ +4\.\d+ … 4\.\d+", rows["7f3ac0"])
    assert "crashed" in rows["deadbe"]
    assert " *" in rows["cafe01"]
    assert "* too few samples to state it" in text


def test_models_of_one_name_go_by_their_folders_and_files_by_their_own() -> None:
    def view(folder: str) -> RunView:
        run = measured_run()
        subject = Subject(name="onnx/model.onnx", path=f"/zoo/{folder}/onnx/model.onnx")
        return RunView(replace(run, job=replace(run.job, subject=subject)))

    text = as_text(runs_table([view("bert"), view("vit")]), width=120)
    assert "bert" in text
    assert "vit" in text
    assert "bert" not in as_text(runs_table([view("bert"), view("bert")]), width=120)

    def names(*paths: str) -> list[str]:
        files = [(path.rpartition("/zoo/")[2], path) for path in paths]
        subjects = [Subject(name=name, path=path) for name, path in files]
        return subject_names([replace(measured_run().job, subject=one) for one in subjects])

    first, other = "/zoo/first/model.onnx", "/zoo/other/model.onnx"
    assert names(first, "/zoo/slower.onnx") == ["model.onnx", "slower.onnx"]
    assert names(first, first) == ["first/model.onnx", "first/model.onnx"]
    assert names(first, other) == ["first/model.onnx", "other/model.onnx"]


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_table_of_runs_breaks_no_name_and_no_id(width: int) -> None:
    trtexec = Job(
        subject=Subject(name="mobilenet_v2_residuals.qat", kind="engine"),
        backend=BackendSpec(name="trtexec", precision="int8"),
    )
    views = [RunView(measured_run()), RunView(measured_run(id="cafe0123", job=trtexec))]
    lines = as_text(runs_table(views, width=width), width=width).splitlines()
    assert len(lines) == 2 + len(views)
    assert max(map(len, lines)) <= width
    assert "95 % CI ms" in lines[0]
    assert "trtexec" in lines[3]
    assert ("p99 ms" in lines[0]) is (width == 80)


@pytest.mark.parametrize("width", [60, 80])
def test_options_that_all_runs_share_are_said_below_the_table(width: int) -> None:
    options = {"tactic_sources": "-CUDNN,-CUBLAS", "builder_optimization_level": "2"}
    specs = [BackendSpec(name="trt", precision=one, options=options) for one in (None, "fp16")]
    job = measured_run().job
    views = [
        RunView(measured_run(id=f"{at}afe0123", job=replace(job, backend=one)))
        for at, one in enumerate(specs)
    ]
    lines = as_text(runs_table(views, width=width), width=width).splitlines()
    assert " trt   " in lines[2]
    assert " trt fp16  " in lines[3]
    said = "options of all: tactic_sources=-CUDNN,-CUBLAS & builder_optimization_level=2"
    assert " ".join(lines[4:]) == said


def test_table_sets_numbers_flush_right() -> None:
    lines = as_text(table(("name", "ms"), [("a", "1"), ("b", "100")], right=("ms",)), width=40)
    *_, one, hundred = lines.splitlines()
    assert one.endswith("  1")
    assert hundred.endswith("100")


def test_sparkline_shows_the_range_what_lies_beyond_and_a_single_sample() -> None:
    text = summary_text(RunView(measured_run()))
    (line,) = [line for line in text.splitlines() if "█" in line]
    assert re.fullmatch(r" {13}[▁▂▃▄▅▆▇█ ]{8,32}   3\.\d+ … \d\.\d+ ms; 1 above", line)
    one = replace(
        measured_run().samples[0],
        values_ms=measured_run().samples[0].values_ms[:1],
        start_ms=None,
        warmup_ms=None,
    )
    assert "█" in summary_text(RunView(measured_run(samples=(one,))))


def test_what_makes_a_run_unstable_comes_first_and_loud() -> None:
    mild = Notice(code="W-A", message="weaker")
    loud = Notice(code="W-LOAD", message="unstable: 2 of 2", evidence={"unstable": True})
    told = Group(*notice_lines([mild, loud]))
    text = as_text(told)
    assert text.index("unstable") < text.index("weaker")
    coloured = as_text(told, color=True)
    line = next(one for one in coloured.splitlines() if "unstable" in one)
    assert "\x1b[1;31m" in line
    assert "\x1b[1;31m" not in coloured.replace(line, "")
