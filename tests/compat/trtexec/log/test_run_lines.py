"""Lines of a run: its engine, bindings, layers and performance."""

import json

import pytest

from enginescope.compat.trtexec.log import report
from enginescope.compat.trtexec.log.log import on_one_line
from enginescope.compat.trtexec.log.outputs import binding_lines, engine_lines, parsing_lines
from enginescope.core.record import replace
from enginescope.records.plan.plan import IOTensor, Plan, ProfileShapes
from enginescope.records.run.run import Phase
from enginescope.records.tensor import DataType, Tensor
from tests.compat.trtexec.runs import PROFILE, N, measured, settings, version


def texts(lines) -> list[str]:
    return [one.text for one in lines]


def test_8_counts_the_parsing_with_the_build_and_later_ones_do_not() -> None:
    earlier, later = settings(trt="8.6.1"), settings(trt="10.16.1")
    assert "Engine built in 12.25 sec." in texts(engine_lines(measured(earlier), earlier))
    found = texts(engine_lines(measured(later), later))
    assert "Engine built in 12 sec." in found
    assert "Created engine with size: 2 MiB" in found


def test_what_was_not_done_has_no_line() -> None:
    asked = settings()
    run = measured(asked, phases=(), build=None, device_memory=None)
    assert engine_lines(run, asked) == parsing_lines(run) == ()
    run = measured(asked, phases=(Phase(name="parse", duration_ms=1.0),), build=None)
    assert texts(parsing_lines(run)) == ["Start parsing network model."]
    first = texts(engine_lines(run, asked))[0]
    assert first == "Finished parsing network model. Parse time: 0.001"


def test_bindings_with_their_source_type_and_shape() -> None:
    asked = settings("--loadInputs=x:a.raw")
    outputs = (
        Tensor(name="y", shape=(None, 4), dtype=DataType.FP32),
        Tensor(name="n", shape=(), dtype=DataType.INT64),
    )
    assert texts(binding_lines(measured(asked, outputs=outputs), asked)) == [
        "Using values loaded from a.raw for input x",
        "Input binding for x with dimensions 1x3x8x8 and type fp32 is created.",
        (
            "Output binding for y is dynamic and will be created during execution using "
            "OutputAllocator."
        ),
        "Output binding for n with dimensions  and type int64 is created.",
    ]


def test_8_does_not_say_the_type() -> None:
    asked = settings(trt="8.6.1")
    random, binding = texts(binding_lines(measured(asked), asked))[:2]
    assert random == "Using random values for input x"
    assert binding == "Input binding for x with dimensions 1x3x8x8 is created."


def test_the_table_has_trtexecs_widths() -> None:
    assert texts(report.profile_lines(PROFILE)) == [
        "",
        "=== Profile (120 iterations ) ===",
        "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer",
        "      60.00       0.5000       0.4900      75.0   conv1",
        '      20.00       0.1667       0.1600      25.0   fc "x"\\y\\x0az',
        "      80.00       0.6667       0.6500     100.0   Total",
        "",
    ]


def test_detailed_layers_read_as_the_inspectors_own_lines(shared) -> None:
    folder = shared / "trt86-h200"
    inspector = json.loads((folder / "resnet18.graph.json").read_text(), strict=False)
    log = (folder / "resnet18.engine.profile.log").read_text(errors="replace")
    _, text = report.layer_info_lines(inspector)
    theirs = log.partition("[I] Layers:\n")[2].partition("\n\nBindings:")[0].split("\n")
    ours = text.text.partition("Layers:\n")[2].partition("\n\nBindings:")[0].split("\n")
    assert len(ours) == 58
    assert ours == [on_one_line(one) for one in theirs]


def test_the_shapes_of_profiles_come_from_the_plan_where_it_has_them() -> None:
    asked = settings("--loadEngine=e.plan")
    shapes = ProfileShapes(index=1, min_shape=(1, 3), opt_shape=(4, 3))
    tensor = IOTensor(tensor=Tensor(name="x"), mode="input", profiles=(shapes,))
    run = measured(asked, plan=Plan(name="e", layers=(), io=(tensor,)))
    assert texts(report.shape_lines(run, asked)) == [
        "Optimization Profile Information:",
        "Model input x (profile 1): min=1x3, opt=4x3, max=not known",
    ]


@pytest.mark.parametrize("value", [None, [], {}, {"Layers": []}])
def test_an_empty_plan_has_no_layers(value) -> None:
    assert texts(report.layer_info_lines(value)) == ["Layer Information:", "Layers:\n\nBindings:"]


def test_nothing_is_said_of_a_run_without_compute_times() -> None:
    asked = settings()
    assert report.performance_lines(measured(asked, samples=()), asked) == ()


def test_the_span_of_the_queries() -> None:
    run = measured(settings())
    assert report.wall_ms_of(run) == 1.25 * N
    stamped = replace(run, wall_ms=None)
    assert report.wall_ms_of(stamped) == pytest.approx(1.25 * (N - 1) + 1.15, rel=1e-6)
    assert report.wall_ms_of(replace(stamped, trace=None)) is None


def test_what_is_not_known_is_not_printed() -> None:
    asked = settings()
    run = measured(asked, wall_ms=None, trace=None, warmup=None)
    alone = tuple(one for one in run.samples if one.metric == "gpu_compute")
    found = texts(report.performance_lines(replace(run, samples=alone), asked))
    titles = ["Trace averages of 10 runs", "GPU Compute Time", "Total GPU Compute Time"]
    assert [one.partition(":")[0] for one in found if ":" in one] == titles


@pytest.mark.parametrize(
    ("trt", "limit"), [("8.6.1", 1.0), ("10.13.0", 1.0), ("10.13.2", 2.5), ("11.1.0", 2.5)]
)
def test_the_limit_of_steadiness_is_the_versions(trt, limit) -> None:
    assert report.unstable_from_pct(version(trt)) == limit
