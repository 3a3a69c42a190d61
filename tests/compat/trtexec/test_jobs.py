from enginescope.compat.trtexec.files import KeptTexts, kept_texts
from enginescope.compat.trtexec.settings import job_of
from enginescope.records.run.job import InputShape, Mode, StopRule, Subject, WarmUp
from enginescope.records.run.run import Artifact
from tests.compat.trtexec.runs import measured, settings

SUBJECT = Subject(name="model.onnx", kind="onnx", path="model.onnx")


def test_the_job_of_a_command_line() -> None:
    job = job_of(settings("--fp16", "--shapes=x:1x3"), SUBJECT)
    assert (job.backend.name, job.backend.precision) == ("trt", "fp16")
    assert job.workload.shapes == (InputShape(name="x", dims=(1, 3)),)
    assert job.workload.warmup == WarmUp(time_ms=200, iterations=0, limit_ms=200)
    assert job.workload.stop == StopRule(duration_ms=3000, min_iterations=10, precision_pct=None)
    assert job.workload.mode == Mode(
        kind="throughput", in_flight=2, transfers=True, cuda_graph=False, spin_wait=False, streams=1
    )
    assert not job.layer_profile
    assert not job.keep_outputs
    assert job.engine_cache is None
    job = job_of(settings("--skipInference"), SUBJECT)
    assert job.workload.stop == StopRule(iterations=1, precision_pct=None)


def test_files_are_absolute_and_both_minima_hold(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = job_of(settings("--loadInputs=x:a.raw"), SUBJECT)
    assert job.workload.files[0].path == str(tmp_path / "a.raw")
    flags = ("--iterations=50", "--duration=0", "--infStreams=4", "--exposeDMA", "--idleTime=1")
    job = job_of(settings(*flags), SUBJECT)
    assert (job.workload.stop.duration_ms, job.workload.stop.min_iterations) == (0, 200)
    assert (job.workload.mode.in_flight, job.workload.mode.idle_ms) == (1, 1)


def test_passes_are_asked_for_by_what_is_reported() -> None:
    assert job_of(settings("--exportProfile=p.json"), SUBJECT).layer_profile
    assert job_of(settings("--dumpProfile"), SUBJECT).layer_profile
    assert not job_of(settings("--dumpProfile", "--skipInference"), SUBJECT).layer_profile
    for flag in ("--dumpOutput", "--exportOutput=o.json", "--dumpRawBindingsToFile"):
        assert job_of(settings(flag), SUBJECT).keep_outputs


def test_texts_are_read_by_what_they_are(tmp_path) -> None:
    files = {"plan": "{}", "build_log": "built", "worker_log": "measured", "trex_metadata": "no"}
    artifacts = []
    for kind, text in files.items():
        (tmp_path / kind).write_text(text)
        artifacts.append(Artifact(kind=kind, path=str(tmp_path / kind)))
    run = measured(settings(), artifacts=tuple(artifacts))
    assert kept_texts(run) == KeptTexts(inspector="{}", build_log="built", run_log="measured")
    gone = (
        Artifact(kind="plan", path=str(tmp_path / "gone")),
        Artifact(kind="worker_log", path=str(tmp_path)),
    )
    assert kept_texts(measured(settings(), artifacts=gone)) == KeptTexts()
