import json

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import read_json
from enginescope.formats.onnxruntime.ort_profile import ort_profile_of


def node(name: str, ts: int, dur: int, op: str = "Add", **more: str) -> dict:
    arguments = {"op_name": op, "provider": "CPUExecutionProvider", "node_index": "0", **more}
    return {"cat": "Node", "name": f"{name}_kernel_time", "ts": ts, "dur": dur, "args": arguments}


def run(dur: int) -> dict:
    return {"cat": "Session", "name": "model_run", "ts": 0, "dur": dur, "args": {}}


def read(events: list):
    return ort_profile_of(read_json(json.dumps(events).encode(), "o.json"))


def test_sums_within_a_run_and_means_over_runs() -> None:
    first = [node("a", 0, 900), run(2000)]
    second = [node("a", 10, 100), node("a", 20, 300), run(1000)]
    third = [node("a", 30, 200), run(600)]
    profile, notices = read([*first, *second, *third])
    (layer,) = profile.layers
    assert (layer.total_ms, layer.mean_ms, layer.median_ms) == pytest.approx((0.6, 0.3, 0.3))
    assert profile.iterations == 2
    assert profile.whole_ms == pytest.approx(0.8)
    assert (layer.kind, layer.provider) == ("Add", "CPUExecutionProvider")
    assert notices == ()


def test_a_branch_not_taken_counts_as_nothing() -> None:
    profile, _ = read([run(1), node("a", 0, 100), run(9), node("b", 0, 50), run(9)])
    assert {one.name: one.mean_ms for one in profile.layers} == pytest.approx(
        {"a": 0.05, "b": 0.025}
    )


def test_containers_are_marked_and_come_before_their_bodies() -> None:
    body = node("body", 20, 5)
    loop = node("loop", 10, 40, op="Loop")  # reported after its body, begun before it
    profile, _ = read([run(1), body, loop, run(50)])
    assert [(one.name, one.is_container) for one in profile.layers] == [
        ("loop", True),
        ("body", False),
    ]
    assert layer_times(profile).sum_ms == pytest.approx(0.005)


def test_nodes_begin_when_their_stamps_say() -> None:
    """Runs begin anywhere; between nodes there are gaps, and branches overlap."""
    runs = [run(1)]
    for begin, gap in ((1_000, 5), (7_000, 15)):
        runs += [node("a", begin, 10), node("b", begin + 10 + gap, 20), run(50)]
    profile, _ = read(runs)
    assert {one.name: one.start_ms for one in profile.layers} == pytest.approx(
        {"a": 0.0, "b": 0.020}
    )


def test_a_node_that_runs_several_times_or_has_no_stamp_has_no_start() -> None:
    odd = node("odd", 30, 5)
    del odd["ts"]
    profile, _ = read(
        [run(1), node("a", 0, 1), node("body", 5, 2), node("body", 9, 2), odd, run(9)]
    )
    starts = {one.name: one.start_ms for one in profile.layers}
    assert (starts["a"], starts["body"], starts["odd"]) == (0.0, None, None)


def test_which_events_are_nodes() -> None:
    fence = {"cat": "Node", "name": "a_fence_before", "ts": 0, "dur": 7, "args": {"op_name": "X"}}
    profile, _ = read([run(1), fence, node("a", 0, 1), run(5)])
    assert [one.name for one in profile.layers] == ["a"]
    events = [
        run(1),
        3,
        {"cat": "Node"},
        {**node("a", 0, -4)},
        {**node("b", 0, 5), "args": None},
        run(5),
    ]
    profile, _ = read(events)
    assert [(one.name, one.kind, one.provider) for one in profile.layers] == [("b", None, None)]
    profile, _ = read([run(1), node("x", 0, 1), node("x", 5, 2, node_index="7"), run(5)])
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
    assert [one.name for one in profile.layers] == [
        "mul",
        "loop0",
        "idc",
        "add_in_loop",
        "neg_in_loop",
        "relu",
    ]
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


def kernel(name: str, ts: int, dur: int, category: str = "Kernel") -> dict:
    return {"cat": category, "name": name, "ts": ts, "dur": dur, "args": {"stream": "7"}}


def whole(ts: int, dur: int) -> dict:
    return {"cat": "Session", "name": "model_run", "ts": ts, "dur": dur, "args": {}}


def test_gpu_kernels_are_summed_within_runs_and_kept_apart_from_nodes() -> None:
    runs = [whole(0, 100), whole(200, 100), whole(400, 100)]
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
    _, notices = read([node("a", 5, 40), whole(0, 100), kernel("x", 5, 3, category="Api")])
    assert "I-GPU-EVENTS" not in [one.code for one in notices]
