"""The figures behind each chart of trex's report card; the charts are tested in render/."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trex import examples
from tests.trex.examples import EXAMPLES, Example, example

PERCENT = {"rel": 1e-5, "abs": 5e-4}
#: A chart with a bar for each layer -> our column.
OF_LAYERS = {
    "perf_overview/Latency per layer (%)": "latency.pct_time",
    "perf_overview/Latency per layer (ms)": "latency.avg_time",
    "perf_overview/Precision per layer": "latency.avg_time",
    "perf_overview/Output precision per layer": "latency.avg_time",
    "memory_footprint/Weights footprint per layer": "weights_size",
    "memory_footprint/Activation footprint per layer": "total_io_size_bytes",
    "memory_footprint/Total footprint per layer": "total_footprint_bytes",
}
#: A histogram with a trace for each type -> our column.
BY_TYPE = {
    "perf_overview/Layer latency distribution": "latency.pct_time",
    "memory_footprint/Weights footprint distribution per layer": "weights_size",
    "memory_footprint/Activations footprint distribution per layer": "total_io_size_bytes",
    "memory_footprint/Total footprint distribution per layer": "total_footprint_bytes",
}
CONVOLUTION = "convolutions_overview/"
#: A chart with a bar for each convolution -> our column.
OF_CONVOLUTIONS = {
    **{
        f"{CONVOLUTION}Latency per convolution (color = {one})": "latency.pct_time"
        for one in (
            *("precision", "FMAs", "data size", "arithmetic intensity", "compute efficiency"),
            "group size",
        )
    },
    f"{CONVOLUTION}Data footprints": "total_footprint_bytes",
    f"{CONVOLUTION}Fused Multiply-Accumulate (FMAs)": "attr.macs",
    f"{CONVOLUTION}Compute efficiency (color = latency)": "attr.compute_efficiency",
}
INTENSITY = ("attr.arithmetic_intensity", float.__lt__)
#: D3: with biases and second inputs among the bytes ours differ, in this direction.
OTHER_BYTES: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    f"{CONVOLUTION}Arithmetic intensity (color = latency)": INTENSITY,
    f"{CONVOLUTION}Arithmetic intensity (color = footprint)": INTENSITY,
    f"{CONVOLUTION}Memory efficiency (color = latency)": ("attr.memory_efficiency", float.__gt__),
}
#: What trex cannot draw at all.
BROKEN = f"{CONVOLUTION}Latency per convolution (color = kernel size)"
#: Others, each with a test of its own below or in test_goldens.py.
SINGLE = {
    *(f"perf_overview/{one} per layer type" for one in ("Count", "Precision")),
    *(f"perf_overview/Latency per layer type ({unit})" for unit in ("ms", "%")),
    *("perf_overview/Precision rollup", "layer_latency_sunburst", "plot_engine_timings"),
    *("reformat_by_origin", "runs/table_view", "runs/pointwise_lint"),
}


@pytest.fixture(params=EXAMPLES)
def one(request, shared: Path) -> Example:
    return example(shared, request.param)


def missed_by(one: Example, column: str, kind: str | None = None) -> int:
    """D1: what trex leaves out of the weights."""
    counted = column in ("weights_size", "total_footprint_bytes") and kind in (None, "ConvActPool")
    return examples.WEIGHTS_BYTES.get(one.name, 0) if counted else 0


@pytest.mark.parametrize("chart", OF_LAYERS)
def test_bars_of_layers(one, chart) -> None:
    (golden,) = one.golden["report_card"][chart]
    values = one.view.columns()[OF_LAYERS[chart]]
    assert len(values) == golden["n_y"]
    missed = missed_by(one, OF_LAYERS[chart])
    assert sum(values) - missed == pytest.approx(golden["sum_y"], **PERCENT)


@pytest.mark.parametrize("chart", BY_TYPE)
def test_distributions_by_type(one, chart) -> None:
    for golden in one.golden["report_card"][chart]:
        values = one.view.columns(golden["name"])[BY_TYPE[chart]]
        assert len(values) == golden["n_x"]
        missed = missed_by(one, BY_TYPE[chart], golden["name"])
        assert sum(values) - missed == pytest.approx(golden["sum_x"], **PERCENT)


@pytest.mark.parametrize("chart", OF_CONVOLUTIONS)
def test_bars_of_convolutions(one, chart) -> None:
    (golden,) = one.golden["report_card"][chart]
    values = one.view.columns("Convolution")[OF_CONVOLUTIONS[chart]]
    assert len(values) == golden["n_y"]
    assert sum(values) == pytest.approx(golden["sum_y"], **PERCENT)


@pytest.mark.parametrize("chart", OTHER_BYTES)
def test_bars_that_count_other_bytes(one, chart) -> None:
    (golden,) = one.golden["report_card"][chart]
    name, differs = OTHER_BYTES[chart]
    found = one.view.columns("Convolution")
    assert differs(float(sum(found[name])), golden["sum_y"])
    layers = one.view.by_type("Convolution")
    left_out = (
        sum(it.nbytes or 0 for it in (*layer.inputs[1:], *layer.weights[1:])) for layer in layers
    )
    moved = [a - b for a, b in zip(found["moved_bytes"], left_out, strict=True)]
    other = found["latency.avg_time"] if name == "attr.memory_efficiency" else None
    theirs = [b / other[at] if other else found["attr.macs"][at] / b for at, b in enumerate(moved)]
    assert sum(theirs) == pytest.approx(golden["sum_y"])


def test_one_chart_that_trex_cannot_draw(one) -> None:
    assert "error" in one.golden["report_card"][BROKEN]
    kernels = one.view.columns("Convolution")["Kernel"]
    assert len(kernels) == len(one.view.by_type("Convolution"))
    assert all(len(it) == 2 for it in kernels)


def test_precisions_by_type(one) -> None:
    """A sunburst: its rings hold each type, and each precision of a type."""
    (golden,) = one.golden["report_card"]["perf_overview/Precision per layer type"]
    columns = one.view.columns()
    pairs = list(zip(columns["type"], columns["precision"], strict=True))
    rings = [pairs.count(it) for it in set(pairs)]
    rings += [columns["type"].count(it) for it in set(columns["type"])]
    assert sorted(rings) == sorted(golden["values"])


def test_the_sentence_over_each_table(one) -> None:
    """The goldens cut the text; whole sentences are compared."""
    rows: dict[str, Any] = {it.key: it for it in one.explored.by_type}
    pattern = r"There are (\d+) (\w+) layers which account for ([\d.]+)% \(\s*([\d.]+) ms\)"
    sentences = re.findall(pattern, one.golden["report_card"]["runs/table_view"]["stdout"])
    assert sentences
    for count, kind, share, ms in sentences:
        found = rows[kind]
        assert found.layers == int(count)
        assert f"{found.share_pct:.2f}" == share
        assert f"{found.time_ms:.5f}" == ms


def test_pointwise_layers(one) -> None:
    text = one.golden["report_card"]["runs/pointwise_lint"]["stdout"]
    assert "does not contain pointwise" in text
    assert not [it for it in one.view.layers if it.type.startswith("PointWise")]


def test_every_chart_of_the_goldens_is_compared(one) -> None:
    ours = {*OF_LAYERS, *BY_TYPE, *OF_CONVOLUTIONS, *OTHER_BYTES, BROKEN, *SINGLE}
    theirs = set(one.golden["report_card"])
    # what only says that a call of trex came to an end
    assert theirs - {it for it in theirs if it.startswith("runs/")} <= ours
