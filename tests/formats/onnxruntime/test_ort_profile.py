import json
from typing import Any

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.onnxruntime import ort_profile
from enginescope.formats.onnxruntime.ort_profile import GpuTrace, ort_profile_of, with_gpu_times

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def event(cat: str, name: str, ts: int, dur: int, **args: str) -> dict[str, Any]:
    return {"cat": cat, "name": name, "ts": ts, "dur": dur, "args": args}


def node(
    name: str, ts: int, dur: int, op: str = "Add", provider: str = CPU, index: str | None = None
) -> dict[str, Any]:
    args = {"op_name": op, "provider": provider, "node_index": index or name}
    return event("Node", f"{name}_kernel_time", ts, dur, **args)


def run(dur: int, ts: int = 0) -> dict[str, Any]:
    return event("Session", "model_run", ts, dur)


def read(events: list):
    return ort_profile_of(read_json(json.dumps(events).encode(), "o.json"))


def test_sums_within_a_run_and_means_over_runs() -> None:
    first = [node("a", 0, 900), run(2000)]
    second = [node("a", 10, 100), node("a", 20, 300), run(1000)]
    profile, notices = read([*first, *second, *[node("a", 30, 200), run(600)]])
    (layer,) = profile.layers
    assert (layer.total_ms, layer.mean_ms, layer.median_ms) == pytest.approx((0.6, 0.3, 0.3))
    assert profile.iterations == 2
    assert profile.whole_ms == pytest.approx(0.8)
    assert (layer.kind, layer.provider) == ("Add", "CPUExecutionProvider")
    assert notices == ()


def test_a_branch_not_taken_counts_as_nothing() -> None:
    profile, _ = read([run(1), node("a", 0, 100), run(9), node("b", 0, 50), run(9)])
    means = {one.name: one.mean_ms for one in profile.layers}
    assert means == pytest.approx({"a": 0.05, "b": 0.025})


def test_containers_are_marked_and_come_before_their_bodies() -> None:
    body = node("body", 20, 5)
    loop = node("loop", 10, 40, op="Loop")  # reported after its body, begun before it
    profile, _ = read([run(1), body, loop, run(50)])
    marks = [(one.name, one.is_container) for one in profile.layers]
    assert marks == [("loop", True), ("body", False)]
    assert layer_times(profile).sum_ms == pytest.approx(0.005)


def test_nodes_begin_when_their_stamps_say() -> None:
    """Runs begin anywhere; between nodes there are gaps, and branches overlap."""
    runs = [run(1)]
    for begin, gap in ((1_000, 5), (7_000, 15)):
        runs += [node("a", begin, 10), node("b", begin + 10 + gap, 20), run(50)]
    profile, _ = read(runs)
    starts = {one.name: one.start_ms for one in profile.layers}
    assert starts == pytest.approx({"a": 0.0, "b": 0.020})


def test_a_node_that_runs_several_times_or_has_no_stamp_has_no_start() -> None:
    odd = node("odd", 30, 5)
    del odd["ts"]
    twice = [node("body", at, 2) for at in (5, 9)]
    profile, _ = read([run(1), node("a", 0, 1), *twice, odd, run(9)])
    starts = {one.name: one.start_ms for one in profile.layers}
    assert (starts["a"], starts["body"], starts["odd"]) == (0.0, None, None)


def test_which_events_are_nodes() -> None:
    fence = event("Node", "a_fence_before", 0, 7, op_name="X")
    profile, _ = read([run(1), fence, node("a", 0, 1), run(5)])
    assert [one.name for one in profile.layers] == ["a"]
    odd = [3, {"cat": "Node"}, node("a", 0, -4), {**node("b", 0, 5), "args": None}]
    profile, _ = read([run(1), *odd, run(5)])
    assert [(one.name, one.kind, one.provider) for one in profile.layers] == [("b", None, None)]
    profile, _ = read([run(1), node("x", 0, 1), node("x", 5, 2, index="7"), run(5)])
    assert [(one.index, one.name) for one in profile.layers] == [(0, "x"), (1, "x")]


def test_single_unfinished_and_empty_runs() -> None:
    profile, notices = read([node("a", 0, 1000), run(2000)])
    assert profile.iterations == 1
    assert [one.code for one in notices] == ["W-FIRST-RUN"]
    profile, notices = read([run(1), node("a", 0, 10), run(20), node("a", 0, 99)])
    assert profile.layers[0].total_ms == pytest.approx(0.01)
    assert [(one.code, one.evidence["events"]) for one in notices] == [("W-TRUNCATED", 1)]
    profile, _ = read([run(1), run(3)])
    assert (profile.layers, profile.whole_ms) == ((), pytest.approx(0.003))


@pytest.mark.parametrize("text", ["[]", "{}", '[{"cat": "Node"}]', "3"])
def test_what_is_no_profile(text) -> None:
    with pytest.raises(FormatError):
        ort_profile_of(read_json(text.encode(), "o.json"))


def test_recorded_loop(data) -> None:
    raw = (data / "onnxruntime" / "loop_1.31.json").read_bytes()
    profile, notices = ort_profile_of(read_json(raw, "loop.json"))
    names = ["mul", "loop0", "idc", "add_in_loop", "neg_in_loop", "relu"]
    assert [one.name for one in profile.layers] == names
    assert [one.name for one in profile.layers if one.is_container] == ["loop0"]
    assert (profile.iterations, notices) == (3, ())
    kept = json.loads(raw)
    marks = [i for i, event in enumerate(kept) if event["name"] == "model_run"]
    adds = [e["dur"] for e in kept[marks[0] :] if e["name"] == "add_in_loop_kernel_time"]
    assert len(adds) == 15
    assert profile.layers[3].total_ms == pytest.approx(sum(adds) / 1000)


def test_iterations_give_batches_of_medians_and_the_clock_truncates() -> None:
    events = []
    for iteration in range(61):
        events += [node("a", 0, 100 if iteration == 30 else 5), run(9)]
    profile, _ = read(events)
    assert profile.iterations == 60
    assert profile.batch_sums_ms == pytest.approx((0.005,) * 12)
    assert profile.resolution_ms == (0.0, 0.001)
    assert layer_times(profile).sum_ms == pytest.approx(0.005)


def kernel(name: str, ts: int, dur: int, category: str = "Kernel") -> dict[str, Any]:
    return event(category, name, ts, dur, stream="7")


def test_gpu_kernels_are_summed_within_runs_and_kept_apart_from_nodes() -> None:
    runs = [run(100, begin) for begin in (0, 200, 400)]
    kernels = [
        kernel("gemm", 10, 90),  # of the first run, which is dropped
        *(kernel("gemm", 210, 20), kernel("relu", 240, 4), kernel("gemm", 410, 30)),
        kernel("late", 900, 50),
        kernel("cudaLaunchKernel", 215, 70, category="Api"),
    ]
    profile, notices = read([node("a", 5, 40), *runs[:1], node("a", 205, 40), *runs[1:], *kernels])
    (said,) = [one for one in notices if one.code == "I-GPU-EVENTS"]
    assert said.evidence["gpu_ms"] == pytest.approx(0.027)
    assert said.evidence["kernels_ms"] == pytest.approx({"gemm": 0.025, "relu": 0.002})
    assert "GPU time 0.027 ms a run in 1.5 kernels, most in gemm" in said.message
    assert [one.name for one in profile.layers] == ["a"]
    assert profile.layers[0].total_ms == pytest.approx(0.04)
    _, notices = read([node("a", 5, 40), run(100), kernel("x", 5, 3, category="Api")])
    assert "I-GPU-EVENTS" not in [one.code for one in notices]


def on_gpu(name: str, ts: int, dur: int) -> dict[str, Any]:
    return node(name, ts, dur, op="Conv", provider=CUDA)


def document(*events: object) -> Document:
    return Document(value=list(events), source="o.json", notices=())


def calls(*pairs: tuple[float, float]) -> GpuTrace:
    return GpuTrace(calls=tuple(ort_profile.GpuCall(called_us=at, gpu_us=us) for at, us in pairs))


def test_a_node_lasts_as_long_as_the_gpu_works_for_its_calls() -> None:
    read = document(
        *(on_gpu("a", 10, 20), on_gpu("b", 30, 20), on_gpu("idle", 50, 5)),
        *(node("cpu", 60, 7), run(100)),
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
    read = document(node("loop", 10, 90, op="Loop", provider=provider), on_gpu("body", 20, 10))
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
    read = document(on_gpu("a", 10, 20))
    times = with_gpu_times(read, trace)
    assert (times.mode, times.document) == ("host", read)
    assert [(one.code, one.level) for one in times.notices] == [("W-HOST-NODE-TIMES", "warning")]
    assert times.notices[0].message.endswith(f"the GPU's are not known: {why}")


def test_nodes_at_the_same_time_cannot_be_told_apart() -> None:
    times = with_gpu_times(document(on_gpu("a", 10, 20), on_gpu("b", 15, 20)), calls((16.0, 4.0)))
    assert times.mode == "host"
    assert "nodes ran at the same time" in times.notices[0].message


def test_stamps_of_whole_microseconds_do_not_overlap() -> None:
    """A node that ends at 29.9 has the end 29 + 1; the next one begins at 29.95, stamped 29."""
    times = with_gpu_times(document(on_gpu("a", 10, 20), on_gpu("b", 29, 5)), calls((12.0, 1.0)))
    assert times.mode == "gpu"


def test_nodes_that_end_with_their_work_need_no_trace() -> None:
    times = with_gpu_times(document(node("a", 1, 2), "noise", None), GpuTrace())
    assert (times.mode, times.notices) == (None, ())


def test_a_profile_of_gpu_times_is_finer_than_the_hosts_clock_and_has_no_starts() -> None:
    events = []
    for begin in (0, 1_000, 2_000):
        events += [on_gpu("a", begin + 10, 20), node("b", begin + 40, 9), run(100, begin)]
    trace = calls(*((begin + 15.0, 0.25) for begin in (0, 1_000, 2_000)))
    profile, _ = ort_profile_of(document(*events), trace)
    assert (profile.mode, profile.has_own_times) == ("gpu", True)
    assert [layer.median_ms for layer in profile.layers] == pytest.approx([0.000_25, 0.009])
    assert [layer.start_ms for layer in profile.layers] == [None, None]
    assert profile.resolution_ms == (0.0, pytest.approx(0.000_5))  # of two layers one is the host's


def test_a_file_without_gpu_times_has_the_hosts() -> None:
    profile, notices = ort_profile_of(document(on_gpu("a", 10, 20), run(50)))
    assert (profile.mode, profile.has_own_times) == ("host", False)
    assert "no kernels were traced" in notices[0].message
