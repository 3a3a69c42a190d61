import pytest

from enginescope.formats.trtexec.time_columns import is_times, split_unit


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
