"""Layer times of an H100 behind the gate, beside Nsight Compute's times of the same kernels."""

import json
import lzma
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.render.base.phrases import layer_sum_sentence
from enginescope.render.base.text import as_text, summary
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from enginescope.store.archive import Store
from tests.recorded.test_recorded_gpu_runs import extracted

DATA = Path(__file__).parents[1] / "data" / "trt86-h100-gated"
RUN = "13821cbf"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extracted(DATA / "mobilenet_v2.run.tar.xz", tmp_path_factory.mktemp("gated"))


@pytest.fixture(scope="module")
def view(folder: Path) -> RunView:
    return RunView(Store(folder).load(RUN))


def test_own_times_and_the_bridge_add_up(view) -> None:
    profile, raw = view.run.profile, view.given.profile
    assert profile.sum_ms == pytest.approx(raw.gated_ms)
    assert sum(one.raw_ms for one in profile.layers) > 1.6 * raw.gated_ms
    assert sum(one.time_ms == 0 for one in profile.layers) == 43  # these launch nothing
    found = view.layer_sum
    assert (found.sum_ms - found.whole_ms) == pytest.approx(0.104, abs=0.001)
    text = layer_sum_sentence(found)
    assert text.startswith("Layers 0.3316 ms (own times")
    assert text.endswith("launches hidden by the CUDA graph −0.104 ms; GPU compute time 0.2272 ms.")


def test_terminal_page_and_markdown_have_the_bridge(view) -> None:
    text = layer_sum_sentence(view.layer_sum)
    assert text in " ".join(as_text(summary(view), width=80).split())
    assert text in report_markdown([view]).decode()
    assert text in report_page([view]).decode()


def test_a_page_and_lint_use_own_times(folder, view, capsys) -> None:
    assert main(["explore", RUN, "--store", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(row["time_ms"] or 0.0 for row in told["layers"]) == pytest.approx(0.3316, rel=1e-3)
    report = lint(LintInput.of_run(view))
    assert report.profiler_ms is None
    assert report.sum_ms == pytest.approx(0.3316, rel=1e-3)


ENGINES = json.loads(lzma.decompress((DATA / "layer_times.json.xz").read_bytes()))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda one: one["engine"])
def test_kernels_lie_within_their_layers_intervals_and_the_slowest_agree(engine) -> None:
    kernels = [row for row in engine["table"] if row["ncu"] and len(row["ncu"]) == 1]
    near = [
        row["own"] - reach <= row["ncu"][0] <= row["alone"] + reach
        for row in kernels
        for reach in [max(0.5, 0.1 * row["ncu"][0])]
    ]
    assert sum(near) >= 0.95 * len(near)
    own = sorted(kernels, key=lambda row: -row["own"])[:10]
    slowest = sorted((row["ncu"][0] for row in kernels), reverse=True)[:10]
    assert min(row["ncu"][0] for row in own) >= slowest[-1] - 0.1  # but for ties
