"""Times that a script's IProfiler collected."""

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document
from enginescope.formats.trtexec.exported_profile import is_layer_latencies, layer_latencies_of

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
