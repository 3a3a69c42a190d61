import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document
from enginescope.formats.trtexec import exported_profile
from enginescope.formats.trtexec.exported_profile import layer_latencies_of, parse_profile
from enginescope.formats.trtexec.time_columns import is_times, split_unit
from tests.formats.times import encoded

ROW = {"name": "conv", "timeMs": 3.0, "averageMs": 1.5, "medianMs": 1.4, "percentage": 60.0}
OLD = {"name": "relu", "timeMs": 2.0, "averageMs": 1.0, "percentage": 40.0}


def read(value: object):
    return parse_profile(encoded(value), "p.json")


def test_trtexec() -> None:
    profile, _ = read([{"count": 2}, ROW, {**ROW, "timeMs": 18.0, "averageMs": 9.0}])
    assert (profile.source, profile.iterations) == ("trtexec", 2)
    first, second = profile.layers
    assert (first.total_ms, first.mean_ms, first.median_ms) == (3.0, 1.5, 1.4)
    assert (first.share_pct, second.mean_ms) == (60.0, 9.0)
    assert [(one.index, one.name) for one in profile.layers] == [(0, "conv"), (1, "conv")]
    assert layer_times(profile).sum_ms == 10.5


def test_older_versions_have_no_median_and_torch_tensorrt_no_count() -> None:
    profile, _ = read([{"count": 2}, OLD])
    assert (profile.source, profile.layers[0].median_ms) == ("trtexec", None)
    profile, _ = read([OLD])
    assert (profile.source, profile.iterations) == ("torch-tensorrt", None)


@pytest.mark.parametrize(
    "value",
    [
        {"layers": [OLD], "count": 2},
        {"profile": {"layers": [OLD]}, "count": 2},
        {"a": {"profile": [{"count": 2}, OLD]}},
    ],
)
def test_nestings(value) -> None:
    profile, _ = read(value)
    assert [one.name for one in profile.layers] == ["relu"]
    assert profile.source == "trtexec"


def test_other_units_and_a_mean_from_the_total() -> None:
    profile, _ = read([{"count": 4}, {"name": "a", "time_us": 8000}, {"name": "b", "avg_ns": 5e5}])
    assert [one.mean_ms for one in profile.layers] == [2.0, 0.5]
    assert [one.total_ms for one in profile.layers] == [8.0, None]


def test_json_that_trtexec_breaks_is_read() -> None:
    record = b'{ "name" : "a", "timeMs" : 0, "averageMs" : 0, "percentage" : -nan }'
    profile, notices = parse_profile(b'[{ "count" : 1 }\n, ' + record + b"]", "p.json")
    assert (profile.layers[0].share_pct, profile.layers[0].mean_ms) == (None, 0.0)
    assert [one.code for one in notices] == ["I-JSON-REPAIRED"]
    record = b'{ "name" : "a "quoted" \\name", "timeMs" : 1, "averageMs" : 1 }'
    text = b'[\n  { "count" : 1 }\n, ' + record + b"\n]"
    assert parse_profile(text, "p.json")[0].layers[0].name == 'a "quoted" \\name'


def test_records_that_are_none() -> None:
    profile, notices = read([{"count": "x"}, ROW, 3, {"name": "y"}])
    assert (len(profile.layers), profile.iterations) == (1, None)
    assert [(one.code, one.evidence["left_out"]) for one in notices] == [("W-RECORDS", 2)]


def test_times_below_zero_are_not_known() -> None:
    rows = [{"name": "a", "timeMs": 4, "averageMs": -1}, {"name": "b", "averageMs": 2.0}]
    profile, notices = read([{"count": 4}, *rows])
    assert [one.mean_ms for one in profile.layers] == [1.0, 2.0]
    assert [(one.code, one.evidence["first"]) for one in notices] == [("W-TIMES-NEGATIVE", "a")]


def test_a_mean_that_contradicts_its_total_is_not_known() -> None:
    """averageMs was taken without a word, whatever timeMs and count gave."""
    rows = [
        {"name": "a", "timeMs": 4, "averageMs": 3},
        {"name": "b", "timeMs": 8.0, "averageMs": 2.001},
        {"name": "c", "timeMs": 0, "averageMs": 0},
    ]
    profile, notices = read([{"count": 4}, *rows])
    assert [each.mean_ms for each in profile.layers] == [None, 2.001, 0.0]
    assert [each.total_ms for each in profile.layers] == [None, 8.0, 0.0]
    assert [(one.code, one.evidence["first"]) for one in notices] == [("W-TIMES-CONTRADICT", "a")]


@pytest.mark.parametrize("value", [1e300, 10**12, 10**400, 1e9])
def test_a_time_that_no_layer_takes_is_not_known(value) -> None:
    rows = [{"name": "a", "averageMs": value}, {"name": "b", "averageMs": 2.0}]
    profile, notices = read([{"count": 4}, *rows])
    assert [each.mean_ms for each in profile.layers] == [None, 2.0]
    assert [notice.code for notice in notices] == ["W-TIMES-IMPLAUSIBLE"]


@pytest.mark.parametrize("value", [[], {}, [{"count": 3}], [{"name": "x", "time": 3}], 3])
def test_what_holds_no_layer_times(value) -> None:
    with pytest.raises(FormatError, match="no layer times"):
        read(value)


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
        *(({NAME: "1.0"}, False), ([NAME], False), ({}, False)),
    ],
)
def test_what_is_a_dictionary_of_layer_times(value, fits) -> None:
    assert exported_profile.is_layer_latencies(value) is fits


def test_times_that_a_scripts_profiler_collected() -> None:
    value = {NAME: [1.0, 2.0, 6.0], "noop": [0.0, 0.0, 0.0]}
    profile, (notice,) = layer_latencies_of(Document(source="l.json", value=value))
    assert (profile.source, profile.iterations, notice.code) == ("iprofiler", 3, "I-UNIT-ASSUMED")
    first, second = profile.layers
    assert (first.name, first.mean_ms, first.median_ms, first.total_ms) == (NAME, 3.0, 2.0, 9.0)
    assert (second.mean_ms, second.total_ms) == (0.0, 0.0)
    profile, _ = layer_latencies_of(Document(source="l.json", value={NAME: 1.5}))
    (layer,) = profile.layers  # of one figure there is no median
    assert (profile.iterations, layer.mean_ms, layer.median_ms) == (1, 1.5, None)
    with pytest.raises(FormatError, match="no times by layer"):
        layer_latencies_of(Document(source="l.json", value={"loss": 1.0}))


@pytest.mark.parametrize(
    ("key", "name", "factor"),
    [
        *(("latencyMs", "latency", 1.0), ("startComputeMs", "startcompute", 1.0)),
        *(("latencyUs", "latency", 1e-3), ("time_ns", "time", 1e-6)),
        *(("wall_seconds", "wall", 1e3), ("elapsedSeconds", "elapsed", 1e3)),
        *(("latency_s", "latency", 1e3), ("Latency (ms)", "latency", 1.0)),
        *(("latency[us]", "latency", 1e-3), ("ms", "ms", 1.0)),
        *(("times", "times", None), ("latency", "latency", None)),
        *(("gpu_compute", "gpucompute", None), ("averages", "averages", None)),
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
