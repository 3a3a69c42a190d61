import pytest

from enginescope.analysis.gate.job_pairs import pair_jobs
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.compared_figures import process_value
from enginescope.analysis.verdicts.job_identity import JobIdentity, identity_of, jobs_of, labels_of
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.gated_runs import crashed, job, process, with_device_latency


def shaped(batch: int) -> tuple[Tensor, ...]:
    return (Tensor(name="x", dtype=DataType.FP32, shape=(batch, 3)),)


def pairs(a, b, across=()):
    return pair_jobs(jobs_of(a), jobs_of(b), across)


def test_what_makes_runs_one_job_and_what_keeps_jobs_apart() -> None:
    (one,) = jobs_of([process(1.0, 2), process(1.0, 1), process(1.0, 0)])
    assert [run.created for run in one.runs] == sorted(run.created for run in one.runs)
    assert len(one.measured) == 3
    jobs = [job(), job("other.onnx"), job(spec="trt"), job(spec="trt:fp16"), job(cuda_graph=True)]
    runs = [process(1.0, of=each) for each in (*jobs, job(kind="throughput"))]
    runs.append(process(1.0, inputs=shaped(8)))
    assert len(jobs_of(runs)) == 7
    assert len(jobs_of([*runs, crashed()])) == 8  # which of them it was of cannot be said


def test_a_failed_process_joins_its_job_before_and_now() -> None:
    whole = job(cuda_graph=False, transfers=True)
    before = [process(1.0, of=whole)]
    (one,) = pairs(before, [process(1.0, 1, of=whole), crashed(2)])
    assert (len(one.b.measured), len(one.b.failed)) == (1, 1)
    assert one.b.identity.transfers is True
    (one,) = pairs([*before, crashed(2)], [process(1.0, 3, of=whole)])
    assert (len(one.a.measured), len(one.a.failed)) == (1, 1)
    # The measured one was lost coverage and the failures were another job, still failing.
    whole = job(transfers=True)
    (one,) = pairs([process(1.0, of=whole), crashed(1)], [crashed(2)])
    assert (len(one.a.measured), len(one.a.failed), len(one.b.failed)) == (1, 1, 1)
    (one,) = pairs([crashed(1)], [process(1.0, 2, of=whole), crashed(3)])
    assert (len(one.a.failed), len(one.b.measured), len(one.b.failed)) == (1, 1, 1)
    assert one.b.identity.transfers is True
    (pair,) = pairs([process(1.0, of=job(transfers=True))], [crashed()])
    assert pair.how == "same"
    assert pair.b is not None


def test_the_exact_counterpart_goes_before_one_known_by_its_file_and_none_is_guessed() -> None:
    one, eight = process(1.0, inputs=shaped(1)), process(1.0, inputs=shaped(8))
    found = pairs([one, eight], [crashed(), process(1.0, 1, inputs=shaped(1))])
    assert [pair.b.runs[0].outcome.kind.value for pair in found] == ["ok", "crashed"]
    (pair,) = pairs(
        [process(1.0, of=job("v1.onnx", sha="ab"))], [process(1.0, of=job("v2.onnx", sha="ab"))]
    )
    assert (pair.how, [*map(str, pair.changes)]) == ("renamed", ["model: v1.onnx → v2.onnx"])
    gone, new = pairs(
        [process(1.0, of=job("v1.onnx", sha="ab"))], [process(1.0, of=job("v2.onnx", sha="cd"))]
    )
    assert (gone.b, new.a) == (None, None)
    (pair,) = pairs([process(1.0, of=job(spec="trt"))], [process(1.0, of=job(spec="trt:fp16"))])
    assert (pair.how, [*map(str, pair.changes)]) == ("altered", ["precision: default → fp16"])
    found = pairs(
        [process(1.0, of=job(spec="trt"))],
        [process(1.0, of=job(spec="trt:fp16")), process(1.0, of=job(spec="trt:int8"))],
    )
    lacking = [(one.a is None, one.b is None) for one in found]
    assert lacking == [(False, True), (True, False), (True, False)]
    trt, ort = ([process(1.0, of=job(spec=spec))] for spec in ("trt", "ort-cpu"))
    assert [one.how for one in pairs(trt, ort, across=("backend",))] == ["same"]


def test_labels_say_what_tells_jobs_apart() -> None:
    latency, graph = job(cuda_graph=False), job(cuda_graph=True)
    jobs = jobs_of([process(1.0, of=latency), process(1.0, of=graph), process(1.0, of=job("b"))])
    assert labels_of([one.identity for one in jobs]) == (
        "net.onnx · ort-cpu · batch 1 · no CUDA graph",
        "net.onnx · ort-cpu · batch 1 · CUDA graph",
        "b · ort-cpu · batch 1",
    )
    known = ("precision", "environment", "decode", "load", "contention", "call")
    plain = JobIdentity(model="net.onnx", backend="trt")
    changed = [replace(plain, **{field: 2}) for field in (*known, "streams", "loop")]
    assert [one.differing(plain) for one in changed] == [*((field,) for field in known), (), ()]
    assert [changed[-2].text("streams"), changed[-1].text("loop")] == ["2 streams", "calls from 2"]
    backend = BackendSpec(name="trt", options={"b": "2", "a": "1"})
    run = process(1.0, of=replace(job(), backend=backend), peak_memory_bytes=0)
    assert identity_of(run).spec == "trt?a=1&b=2"
    view = RunView(with_device_latency(run, 0.5))
    assert process_value(view, "peak_memory") is None
    assert process_value(view, "device_latency") == pytest.approx(0.5, rel=0.01)
