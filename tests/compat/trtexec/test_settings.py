import pytest

from enginescope.compat.trtexec.arguments import flags_of_loaded
from enginescope.compat.trtexec.files import KeptTexts, kept_texts
from enginescope.compat.trtexec.settings import Timing, job_of, run_shapes
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import InputFile, InputShape, Mode, StopRule, Subject, WarmUp
from enginescope.records.run.run import Artifact
from tests.compat.trtexec.runs import measured, settings, version


def test_the_defaults_flipped_in_11() -> None:
    for trt in ("8.6.1", "10.16.1"):
        assert settings(trt=trt).timing == Timing()
    assert settings(trt="11.1.0").timing == Timing(transfers=False, spin_wait=True, cuda_graph=True)
    flags = ("--includeDataTransfers", "--noSpinWait", "--noCudaGraph")
    assert settings(*flags, trt="11.1.0").timing == Timing()


def test_switches_of_10_change_nothing_in_11_and_say_so() -> None:
    flags = ("--noDataTransfers", "--useSpinWait", "--useCudaGraph", "--separateProfileRun")
    asked = settings(*flags, trt="10.16.1")
    assert asked.timing == Timing(transfers=False, spin_wait=True, cuda_graph=True)
    assert asked.warnings == ()
    later = settings(*flags, "--stronglyTyped", trt="11.1.0")
    assert later.timing == asked.timing
    assert len(later.warnings) == 5
    assert all("has no effect" in one for one in later.warnings)
    assert "strongly_typed" not in later.options


def test_timing_and_reporting_are_read() -> None:
    found = settings(
        *("--iterations=100", "--warmUp=500", "--duration=0.5", "--idleTime=2", "--exposeDMA"),
        *("--infStreams=3", "--avgRuns=5", "--percentile=50,99.9", "--exportTimes=t.json"),
        "--dumpProfile",
    )
    figures = {"iterations": 100, "warm_up_ms": 500, "duration_s": 0.5, "idle_ms": 2}
    assert found.timing == Timing(**figures, streams=3, expose_dma=True)
    assert (found.average_runs, found.percentiles) == (5, (50.0, 99.9))
    assert found.arguments.text("--exportTimes") == "t.json"
    assert found.arguments.has("--dumpProfile")
    assert found.options["stamps"] == "1"


def test_shapes_to_run_with() -> None:
    assert run_shapes(settings()) == ()
    given = settings("--shapes=x:4x3")
    assert run_shapes(given) == (InputShape(name="x", dims=(4, 3)),)
    assert given.options["min_shapes"] == given.options["max_shapes"] == "x:4x3"
    built = settings("--minShapes=x:1", "--optShapes=x:4", "--maxShapes=x:8")
    assert run_shapes(built) == (InputShape(name="x", dims=(4,)),)
    loaded = settings("--loadEngine=e.plan", "--shapes=x:4x3")
    assert run_shapes(loaded) == run_shapes(given)
    assert "opt_shapes" not in loaded.options


def test_files_platform_and_model() -> None:
    found = settings("--loadInputs=x:a.raw,'y:0':b.raw")
    assert found.files == (InputFile(name="x", path="a.raw"), InputFile(name="y:0", path="b.raw"))
    assert settings("--runtimePlatform=WindowsAMD64").skip_inference
    assert not settings("--runtimePlatform=SameAsBuild").skip_inference
    assert settings("--buildOnly", trt="8.6.1").skip_inference
    found = settings("--onnx=m.onnx", "--loadEngine=e.plan")
    assert (found.model, found.warnings) == ("e.plan", ("--onnx has no effect with --loadEngine",))
    with pytest.raises(UsageError, match="neither a model nor an engine"):
        settings(model="--fp16")


def test_what_decides_a_build_is_passed_over_beside_an_engine() -> None:
    flags = ("--fp16", "--builderOptimizationLevel=5", "--useRuntime=full", "--tempdir=/tmp")
    found = settings("--loadEngine=e.plan", *flags, trt="10.3.0")
    assert [one.split()[0] for one in found.warnings] == ["--fp16", "--builderOptimizationLevel"]
    assert settings(*flags[:2], trt="10.3.0").warnings == ()


@pytest.mark.parametrize(
    "flag",
    [
        *("--minShapes=x:1", "--maxShapes=x:8", "--memPoolSize=workspace:1024"),
        *("--stripWeights", "--stripAllWeights", "--hardwareCompatibilityLevel=ampere+"),
        *("--preview=+profileSharing0806", "--stronglyTyped", "--runtimePlatform=SameAsBuild"),
        *("--profilingVerbosity=detailed", "--profile=0"),
    ],
)
def test_every_setting_of_a_build_is_named_beside_an_engine(flag) -> None:
    given = (flag,) if flag != "--profile=0" else (flag, "--minShapes=x:1")
    found = settings("--loadEngine=e.plan", *given, trt="10.3.0").warnings
    assert f"{flag.partition('=')[0]} has no effect with --loadEngine" in found
    assert settings(*given, trt="10.3.0").warnings == () or "Shapes" in str(given)


def test_flags_of_two_steps_that_a_loaded_engine_reads() -> None:
    flags = ("--verbose", "--profilingVerbosity=detailed", "--fp16", "--vc", "--duration=1")
    shapes = ("--minShapes=x:1", "--optShapes=x:2", "--maxShapes=x:4", "--es-store=s")
    found = flags_of_loaded((*flags, *shapes), version("10.16.1"))
    assert found == ("--verbose", "--duration=1", "--optShapes=x:2", "--es-store=s")
    assert settings("--loadEngine=e", *found).warnings == ()


def test_a_tensorrt_newer_than_the_flags_known_is_said() -> None:
    assert settings(trt="11.1.0").warnings == ()
    (said,) = settings(trt="11.4.1").warnings
    assert said.startswith("TensorRT 11.4.1 is newer than 11.1")
    with pytest.raises(UsageError, match=r"--brandNew.*\n?.*newer than 11\.1"):
        settings("--brandNew", trt="11.4.1")
    with pytest.raises(UsageError) as old:
        settings("--brandNew", trt="11.1.0")
    assert "newer" not in str(old.value)


def test_what_a_loaded_engine_takes_is_not_called_idle() -> None:
    flags = ("--refitFromOnnx=m.onnx", "--useProfile=1", "--shapes=x:2", "--skipInference")
    assert settings("--loadEngine=e.plan", *flags, trt="11.0.0").warnings == ()
    platform = settings("--loadEngine=e.plan", "--runtimePlatform=WindowsAMD64")
    assert (platform.warnings, platform.skip_inference) == ((), True)


def test_a_loaded_engine_runs_at_the_optimum_of_the_profile_in_use() -> None:
    shapes = ("--profile=0", "--optShapes=x:2", "--profile=1", "--optShapes=x:4")
    for index, dims in (("0", (2,)), ("1", (4,))):
        found = settings("--loadEngine=e.plan", *shapes, f"--useProfile={index}")
        assert run_shapes(found) == (InputShape(name="x", dims=dims),)
        assert (found.warnings, found.profiles) == ((), ())
    both = settings("--loadEngine=e.plan", "--optShapes=x:2", "--shapes=x:3")
    assert run_shapes(both) == (InputShape(name="x", dims=(3,)),)
    assert both.warnings == ("--optShapes has no effect with --loadEngine",)
    assert run_shapes(settings("--loadEngine=e.plan", "--minShapes=x:1")) == ()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--loadEngine=a", "--saveEngine=b"), "is not saved again"),
        (("--getPlanVersionOnly",), "--getPlanVersionOnly without --loadEngine"),
        (("--refitFromOnnx=a",), "--refitFromOnnx without --loadEngine"),
        (("--useRuntime=lean",), "only the full runtime builds"),
        (("--useProfile=1",), "there are 1 profiles"),
        (("--useProfile=-1", "--loadEngine=a"), "--useProfile=-1"),
        (("--duration=-1",), "an endless run"),
        (("--duration=9999999",), "is the most"),
        (("--percentile=50,101",), "between 0 and 100"),
        (("--percentile=",), "needs a value"),
        (("--infStreams=0",), "must be 1 or more"),
    ],
)
def test_what_cannot_be_is_refused(flags, message) -> None:
    with pytest.raises(UsageError, match=message):
        settings(*flags)


SUBJECT = Subject(name="model.onnx", kind="onnx", path="model.onnx")


def test_the_job_of_a_command_line() -> None:
    job = job_of(settings("--fp16", "--shapes=x:1x3"), SUBJECT)
    assert (job.backend.name, job.backend.precision) == ("trt", "fp16")
    assert job.workload.shapes == (InputShape(name="x", dims=(1, 3)),)
    assert job.workload.warmup == WarmUp(time_ms=200, iterations=0, limit_ms=200)
    assert job.workload.stop == StopRule(duration_ms=3000, min_iterations=10, precision_pct=None)
    mode = Mode(kind="throughput", in_flight=2, transfers=True, cuda_graph=False, spin_wait=False)
    assert job.workload.mode == replace(mode, streams=1)
    assert (job.layer_profile, job.keep_outputs, job.engine_cache) == (False, False, None)
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
    for kind, text in files.items():
        (tmp_path / kind).write_text(text)
    kept = tuple(Artifact(kind=kind, path=str(tmp_path / kind)) for kind in files)
    run = measured(settings(), artifacts=kept)
    assert kept_texts(run) == KeptTexts(inspector="{}", build_log="built", run_log="measured")
    gone = (
        Artifact(kind="plan", path=str(tmp_path / "gone")),
        Artifact(kind="worker_log", path=str(tmp_path)),
    )
    assert kept_texts(measured(settings(), artifacts=gone)) == KeptTexts()
