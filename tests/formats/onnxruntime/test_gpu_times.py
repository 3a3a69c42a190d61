import pytest

from enginescope.formats.lenient_json import Document
from enginescope.formats.onnxruntime.ort_profile import (
    GpuCall,
    GpuTrace,
    ort_profile_of,
    with_gpu_times,
)

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def node(name: str, ts: int, dur: int, op: str = "Conv", provider: str = CUDA) -> dict:
    arguments = {"op_name": op, "provider": provider, "node_index": name}
    return {"cat": "Node", "name": f"{name}_kernel_time", "ts": ts, "dur": dur, "args": arguments}


def run(ts: int, dur: int) -> dict:
    return {"cat": "Session", "name": "model_run", "ts": ts, "dur": dur, "args": {}}


def document(*events: object) -> Document:
    return Document(value=list(events), source="o.json", notices=())


def calls(*pairs: tuple[float, float]) -> GpuTrace:
    return GpuTrace(calls=tuple(GpuCall(called_us=at, gpu_us=us) for at, us in pairs))


def test_a_node_lasts_as_long_as_the_gpu_works_for_its_calls() -> None:
    read = document(
        *(node("a", 10, 20), node("b", 30, 20), node("idle", 50, 5)),
        *(node("cpu", 60, 7, provider=CPU), run(0, 100)),
    )
    times = with_gpu_times(read, calls((12.5, 3.0), (29.9, 1.5), (30.1, 40.0), (2.0, 5.5)))
    assert times.mode == "gpu"
    assert [event["dur"] for event in times.document.value] == [4.5, 40.0, 0.0, 7, 100]
    (notice,) = times.notices
    assert notice.code == "I-GPU-NODE-TIMES"
    assert notice.evidence == {"nodes_us": 44.5, "elsewhere_us": 5.5}
    assert "11 % of the GPU time is outside nodes" in notice.message


@pytest.mark.parametrize("provider", [CPU, CUDA])
def test_a_loop_leaves_calls_to_the_nodes_in_it(provider) -> None:
    read = document(node("loop", 10, 90, op="Loop", provider=provider), node("body", 20, 10))
    times = with_gpu_times(read, calls((25.0, 8.0), (80.0, 2.0)))
    assert [event["dur"] for event in times.document.value] == [90, 8.0]
    assert times.notices[0].evidence["elsewhere_us"] == 2.0


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (GpuTrace(why="CUPTI dropped 3 records"), "CUPTI dropped 3 records"),
        (GpuTrace(), "no kernel was traced within a node"),
        (calls((5_000.0, 4.0)), "no kernel was traced within a node"),
    ],
)
def test_without_gpu_times_nodes_keep_the_hosts_and_a_warning_says_why(trace, why) -> None:
    read = document(node("a", 10, 20))
    times = with_gpu_times(read, trace)
    assert (times.mode, times.document) == ("host", read)
    assert [(one.code, one.level) for one in times.notices] == [("W-HOST-NODE-TIMES", "warning")]
    assert times.notices[0].message.endswith(f"the GPU's are not known: {why}")


def test_nodes_at_the_same_time_cannot_be_told_apart() -> None:
    times = with_gpu_times(document(node("a", 10, 20), node("b", 15, 20)), calls((16.0, 4.0)))
    assert times.mode == "host"
    assert "nodes ran at the same time" in times.notices[0].message


def test_stamps_of_whole_microseconds_do_not_overlap() -> None:
    """A node that ends at 29.9 has the end 29 + 1; the next one begins at 29.95, stamped 29."""
    times = with_gpu_times(document(node("a", 10, 20), node("b", 29, 5)), calls((12.0, 1.0)))
    assert times.mode == "gpu"


def test_nodes_that_end_with_their_work_need_no_trace() -> None:
    times = with_gpu_times(document(node("a", 1, 2, provider=CPU), "noise", None), GpuTrace())
    assert (times.mode, times.notices) == (None, ())


def test_a_profile_of_gpu_times_is_finer_than_the_hosts_clock_and_has_no_starts() -> None:
    events = []
    for begin in (0, 1_000, 2_000):
        events += [node("a", begin + 10, 20), node("b", begin + 40, 9, provider=CPU)]
        events.append(run(begin, 100))
    trace = calls(*((begin + 15.0, 0.25) for begin in (0, 1_000, 2_000)))
    profile, _ = ort_profile_of(document(*events), trace)
    assert profile.mode == "gpu"
    assert profile.has_own_times
    assert [layer.median_ms for layer in profile.layers] == pytest.approx([0.000_25, 0.009])
    assert [layer.start_ms for layer in profile.layers] == [None, None]
    assert profile.resolution_ms == (0.0, pytest.approx(0.000_5))  # of two layers one is the host's


def test_a_file_without_gpu_times_has_the_hosts() -> None:
    profile, notices = ort_profile_of(document(node("a", 10, 20), run(0, 50)))
    assert profile.mode == "host"
    assert not profile.has_own_times
    assert "no kernels were traced" in notices[0].message
