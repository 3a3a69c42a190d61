"""Times that a script's IProfiler collected."""

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document
from enginescope.formats.trtexec.exported_profile import is_layer_latencies, layer_latencies_of
from enginescope.formats.trtexec.time_columns import is_times, split_unit

NAME = "/features/0/Conv + /features/0/Relu"


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({NAME: [1.0, 2.0], "b": [3.0, 4.0]}, True),
        ({NAME: 1.0, "b": 0}, True),
        ({"loss": 1.0, "accuracy": 0.9}, False),
        ({NAME: [1.0], "b": 2.0}, False),
        ({NAME: [], "b": [1.0]}, False),
        ({NAME: [-1.0], "b": [1.0]}, False),
        ({NAME: "1.0"}, False),
        ([NAME], False),
        ({}, False),
    ],
)
def test_what_is_a_dictionary_of_layer_times(value, fits) -> None:
    assert is_layer_latencies(value) is fits


def test_figures_of_several_inferences() -> None:
    value = {NAME: [1.0, 2.0, 6.0], "noop": [0.0, 0.0, 0.0]}
    profile, (notice,) = layer_latencies_of(Document(source="l.json", value=value))
    assert (profile.source, profile.iterations, notice.code) == ("iprofiler", 3, "I-UNIT-ASSUMED")
    first, second = profile.layers
    assert (first.name, first.mean_ms, first.median_ms, first.total_ms) == (NAME, 3.0, 2.0, 9.0)
    assert (second.mean_ms, second.total_ms) == (0.0, 0.0)


def test_one_figure_a_layer_has_no_median() -> None:
    profile, _ = layer_latencies_of(Document(source="l.json", value={NAME: 1.5}))
    assert (profile.iterations, profile.layers[0].mean_ms) == (1, 1.5)
    assert profile.layers[0].median_ms is None
    with pytest.raises(FormatError, match="no times by layer"):
        layer_latencies_of(Document(source="l.json", value={"loss": 1.0}))


@pytest.mark.parametrize(
    ("key", "name", "factor"),
    [
        ("latencyMs", "latency", 1.0),
        ("startComputeMs", "startcompute", 1.0),
        ("latencyUs", "latency", 1e-3),
        ("time_ns", "time", 1e-6),
        ("wall_seconds", "wall", 1e3),
        ("elapsedSeconds", "elapsed", 1e3),
        ("latency_s", "latency", 1e3),
        ("Latency (ms)", "latency", 1.0),
        ("latency[us]", "latency", 1e-3),
        ("ms", "ms", 1.0),
        ("times", "times", None),
        ("latency", "latency", None),
        ("gpu_compute", "gpucompute", None),
        ("averages", "averages", None),
        ("Status", "status", None),
    ],
)
def test_units_in_names(key, name, factor) -> None:
    assert split_unit(key) == (name, factor)


@pytest.mark.parametrize("name", ["name", "Name", "cat"])
def test_records_with_a_name_are_not_times_of_queries(name) -> None:
    record = {"Total Time (ns)": 59941168, "Instances": 888}
    assert is_times([record])
    assert not is_times([{**record, name: "kernel"}])
