import dataclasses
import html
import json

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.records.run.run import Outcome, OutcomeKind
from enginescope.render.base.text import as_text
from enginescope.render.charts.estimates import latency_medians
from enginescope.render.depth import depth_answer as depth_module
from enginescope.render.depth.depth_answer import (
    depth_figures,
    depth_json,
    depth_panels,
    depth_text,
    gpu_chart,
    shared_text,
    short_labels,
    speed_figure,
)
from tests.depth_benchmarks import depth_benchmark

THREE = ("fp32.engine · trt", "fp16.engine · trt", "int8.engine · trt")


def test_panels_name_every_side_with_its_figures() -> None:
    found = depth_benchmark(THREE)
    text = depth_panels(found)
    for one in ("Picture", "Ground truth", "fp32.engine", "fp16.engine", "int8.engine: apart"):
        assert f">{one}<" in text
    assert "known for 90 % of the pixels" in text
    assert "the others are compared with it" in text
    assert text.count("data:image/png;base64,") == 5 + 2 + 6  # maps, apart, ramps below all but one
    rmse = found.agreement.sides[0].scores.values["rmse"]
    assert f"RMSE {rmse:.4f} to the first" in text
    assert ' width="988"' in text  # three columns of 300 units, their gaps and margins
    text = depth_panels(depth_benchmark(THREE[:1], knows_depth=False))
    assert text.count("data:image/png;base64,") == 3
    assert "apart" not in text


def test_medians_have_their_intervals_and_json_every_figure() -> None:
    found = depth_benchmark(THREE)
    chart = latency_medians([(one.label, one.view) for one in found.sides])
    row = chart.spec["data"]["values"][1]
    assert row["value"] == found.sides[1].view.latency.median_ms
    assert row["low"] <= row["value"] <= row["high"]
    text = speed_figure(found)
    assert "median ms" in text
    assert "one after the other" in text
    held = json.loads(depth_json(depth_benchmark(THREE)))
    assert [one["side"] for one in held["sides"]] == list(THREE)
    assert held["agreement"]["against"] == "reference"
    assert held["quality"]["sides"][2]["values"]["d1"] > 0.9
    assert held["sides"][0]["gpu"] == "NVIDIA H200"


@pytest.mark.usefixtures("small_pictures")
def test_the_gpu_s_four_quantities_or_no_picture() -> None:
    chart = gpu_chart(depth_benchmark(THREE))
    assert chart.title == "NVIDIA H200 over the telemetry pass"
    assert len(chart.spec["vconcat"]) == 4
    without = depth_benchmark(THREE, on_gpu=False)
    assert gpu_chart(without) is None
    pytest.importorskip("vl_convert")
    pictures = depth_figures(without)
    assert list(pictures) == ["depth_comparison.png", "speed_benchmark.png"]
    assert all(data.startswith(b"\x89PNG") for data in pictures.values())


def test_labels_leave_out_what_all_have_in_common() -> None:
    assert short_labels(depth_benchmark(THREE), 40) == ["fp32.engine", "fp16.engine", "int8.engine"]
    one_model = depth_benchmark(("net.onnx · trt", "net.onnx · trt:fp16"))
    assert short_labels(one_model, 40) == ["trt", "trt:fp16"]
    mixed = ("net.onnx · ort-cpu", "net.engine · trt")
    assert short_labels(depth_benchmark(mixed), 40) == list(mixed)
    assert shared_text(depth_benchmark(THREE)) == "On trt"
    of_one = depth_benchmark((f"a.onnx · trt:fp16?{LONG}",))
    assert short_labels(of_one, 40) == ["a.onnx"]
    assert shared_text(of_one).startswith("On trt:fp16 with tactic_sources=-CUDNN")
    assert shared_text(depth_benchmark(("net.onnx · ort-cpu", "net.engine · trt"))) is None


LONG = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
TUNED = (f"net.onnx · trt?{LONG}", f"net.onnx · trt:fp16?{LONG}")


def test_options_that_all_have_in_common_are_said_once() -> None:
    """The whole names of run and backend were cut alike, and had a blank for the colon."""
    found = depth_benchmark(TUNED)
    said = "Options of all: tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT & builder_optimization_level=2"
    assert short_labels(found, 34) == ["trt", "trt:fp16"]
    assert shared_text(found) == said
    for drawn in (depth_panels(found), speed_figure(found)):
        text = html.unescape(drawn)
        assert text.count(said) == 1
        assert ">trt:fp16<" in text
        assert "trt:fp16?" not in text
    screen = as_text(depth_text(found, width=80), width=80)
    assert screen.count("Options of all: tactic_sources=") == 1
    assert [one["side"] for one in json.loads(depth_json(found))["sides"]] == list(TUNED)
    chart = gpu_chart(depth_benchmark(TUNED))
    assert chart.spec["vconcat"][0]["encoding"]["color"]["scale"]["domain"] == ["trt", "trt:fp16"]
    assert any(one.startswith("Options of all: tactic_sources=") for one in chart.subtitle)


@pytest.mark.parametrize("width", [60, 80])
def test_the_screen_keeps_to_its_width(width: int) -> None:
    text = as_text(depth_text(depth_benchmark(THREE), ("a.png",), width=width), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "Against ground-truth depth of street.jpg" in text
    for one in ("AbsRel", "δ3", "95 % CI", "W-DEPTH-RANGE"):
        assert one in text, one


@pytest.fixture
def small_pictures(monkeypatch) -> None:
    """A sixty-fourth of the pixels: at their usual size pictures take seconds."""
    monkeypatch.setattr(depth_module, "_SCALE", depth_module._SCALE / 8)


@pytest.mark.usefixtures("small_pictures")
def test_a_side_that_failed_keeps_its_place() -> None:
    found = depth_benchmark(THREE)
    first, second, third = found.sides
    outcome = Outcome(kind=OutcomeKind.CRASHED, signal=11)
    run = replace(second.view.run, samples=(), outcome=outcome, gpu=None)
    broken = dataclasses.replace(second, view=RunView(run))
    found = dataclasses.replace(found, sides=(first, broken, third))
    assert "crashed (signal 11)" in speed_figure(found)
    assert "crashed (signal 11)" in depth_panels(found)
    assert "crashed (signal 11)" in as_text(depth_text(found, width=80), width=80)
    assert json.loads(depth_json(found))["sides"][1]["latency"] is None
    assert len(depth_figures(found)) == 3
