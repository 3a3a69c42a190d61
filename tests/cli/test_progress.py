import json

import pytest

from enginescope.cli.main import main
from enginescope.cli.progress import JobProgress, describe
from enginescope.core.record import replace
from enginescope.records.progress import Progress
from enginescope.records.run.run import Outcome, OutcomeKind
from tests.render.runs import failed_run
from tests.runner.test_session import job


def steady(samples: int, median_ms: float, **more) -> Progress:
    return Progress(phase="steady_state", samples=samples, median_ms=median_ms, **more)


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(phase="load"), "loading the model"),
        (
            Progress(phase="warm_up", samples=9, median_ms=1.0, elapsed_ms=500, limit_ms=2_000),
            "warming up · at most 2 s left",
        ),
        (
            steady(1_827, 2.413, half_width_pct=0.4321, elapsed_ms=4_000, limit_ms=10_000),
            "measuring · 1,827 samples · median 2.413 ms ± 0.43 % · at most 6 s left",
        ),
        (
            steady(5, 2.0, elapsed_ms=11, limit_ms=10),
            "measuring · 5 samples · median 2.000 ms · at most 0 s left",
        ),
        (steady(1, 2.0), "measuring · 1 sample · median 2.000 ms"),
        (Progress(phase="something new"), "something new"),
    ],
)
def test_a_state_in_words(progress, text) -> None:
    assert describe(progress) == text
    assert len(describe(progress)) <= 78


def test_plain_lines_where_there_is_no_terminal(capsys) -> None:
    with JobProgress((job(), job(seed="1"))) as progress:
        progress.watcher.started(1, job(seed="1"))
        progress.watcher.progressed(1, Progress(phase="load"))
    shown = capsys.readouterr()
    assert shown.err == "[2/2] nothing · fake?seed=1 …\n"
    assert shown.out == ""


def test_how_a_job_ended_is_said_in_words(capsys) -> None:
    outcome = Outcome(kind=OutcomeKind.OUT_OF_MEMORY, message="used 2.00 GiB of memory")
    with JobProgress((job(), job(seed="1"))) as progress:
        progress.ended(replace(failed_run(), outcome=outcome))
    assert ": out of memory: used 2.00 GiB" in capsys.readouterr().err


@pytest.mark.usefixtures("in_process")
def test_progress_goes_to_standard_error_with_json_too(convnet, tmp_path, capsys) -> None:
    """`upgrade --json` ran for 753 s without a word."""
    arguments = ["bench", str(convnet), "--on", "fake", "--iterations", "5", "--warmup", "0"]
    arguments += ["--no-layers", "--store", str(tmp_path), "--json"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)
    assert "small_convnet.onnx · fake …" in shown.err
    assert main([*arguments, "--quiet"]) == 0
    assert "…" not in capsys.readouterr().err
