"""``enginescope explore --passport``, and what ``build`` and ``bench`` do with the file."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import sha256_of
from enginescope.core.record import replace
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import Subject
from enginescope.services.plans.passport import PassportRequest, write_passport
from enginescope.store.archive import Store
from tests.analysis.in_turn import job, process
from tests.fakes import loading, models
from tests.formats import plans
from tests.formats.plan.test_engine_file import HEAD, of_rtx

QUICK = ["--iterations", "10", "--warmup", "0", "--no-layers", "--on", "trt"]


@pytest.fixture
def built(tmp_path, verb):
    """Build an engine with the stand-in for TensorRT, which stays loaded."""
    with ExitStack() as stack:
        stack.enter_context(loading.loaded("10.16.1"))
        model = models.perceptron(tmp_path / "net.onnx")
        engine = tmp_path / "net.engine"
        shapes = ("--min-shape", "x:1x4", "--opt-shape", "x:3x4", "--max-shape", "x:8x4")
        code, _, err = verb("build", model, "-o", engine, "--on", "trt:fp16", "--refit", *shapes)
        assert code == 0, err
        yield engine


def test_what_a_build_records(built, tmp_path) -> None:
    written = json.loads((tmp_path / "net.engine.passport.json").read_bytes())
    build = written["build"]
    assert written["engine"]["sha256"] == build["engine_sha256"] == sha256_of(built)
    assert build["model_sha256"] == sha256_of(tmp_path / "net.onnx")
    assert (build["precision"], build["options"]["refit"]) == ("fp16", "1")
    assert build["command"]
    assert build["device"]
    assert build["timing_cache_sha256"] is None
    assert build["options"]["max_shapes"] == "x:8x4"
    assert [each["tensor"]["name"] for each in written["io"]] == ["x", "y"]


def test_a_validation_of_the_engine_and_the_evidence_of_its_runs(built, verb, tmp_path) -> None:
    assert "whether the outputs are right is unknown" in verb("explore", "--passport", built)[1]
    code, _, err = verb("validate", built, "--reference", tmp_path / "net.onnx", "--samples", "2")
    assert code == 1, err  # the stand-in does not compute the model
    assert verb("bench", built, *QUICK)[0] == 0
    found = es.passport(built, store=tmp_path / "store")
    (validation,) = found.validations
    assert (validation.passes, validation.samples) == (False, 2)
    assert validation.engine_sha256 == sha256_of(built)
    assert found.evidence == "samples of one process"
    _, shown, _ = verb("explore", "--passport", built)
    assert "validated  fails" in shown
    assert "against net.onnx" in " ".join(shown.split())
    assert verb("bench", built, *QUICK)[0] == 0
    assert es.passport(built, store=tmp_path / "store").evidence == "separate processes"


def test_the_timing_cache_of_a_second_build_has_a_digest(built, verb, tmp_path) -> None:
    other = tmp_path / "other.engine"
    assert verb("build", tmp_path / "net.onnx", "-o", other, "--dim", "n=3")[0] == 0
    digest = es.passport(other).build.timing_cache_sha256
    assert len(list((tmp_path / "store" / "engines" / "timing").glob("*.cache"))) == 1
    assert digest is not None


def test_a_run_of_the_engine_knows_its_build(built, verb, tmp_path) -> None:
    code, out, err = verb("bench", built, *QUICK, "--json")
    assert code == 0, err
    run = Store(tmp_path / "store").load("latest")
    assert (run.build.precision, run.build.options["refit"]) == ("fp16", "1")
    assert run.build.from_cache
    assert "W-PASSPORT" not in out

    code, out, _ = verb("explore", "--passport", built)
    assert code == 0
    assert f"{run.id} {run.created[:10]}: " in out
    assert es.passport(built, store=tmp_path / "store").runs[0].id == run.id


def test_a_passport_of_another_build_is_not_believed(built, tmp_path) -> None:
    built.write_bytes(built.read_bytes() + b" ")
    found = es.passport(built)
    assert found.build is None
    assert [notice.code for notice in found.notices] == ["W-PASSPORT"]
    (tmp_path / "net.engine.passport.json").write_text("{")
    assert "could not be used" in es.passport(built).notices[0].message


def engine_with_passport(folder: Path, **build: Any) -> Path:
    """Write an engine, its plan and the passport of its build; return the plan."""
    folder.mkdir()
    engine, plan = folder / "net.engine", folder / "net.engine.graph.json"
    engine.write_bytes(HEAD + folder.name.encode())
    plan.write_bytes(plans.encoded(plans.tensorrt_10()))
    report = BuildReport(engine=engine.name, engine_bytes=engine.stat().st_size, **build)
    written = folder / "net.engine.passport.json"
    write_passport(PassportRequest(file=engine, output=written, build=report, with_runs=False))
    return plan


def test_a_comparison_checks_the_passports(tmp_path, verb) -> None:
    a, b, c = (
        engine_with_passport(tmp_path / name, tensorrt=version, device=gpu, precision=precision)
        for name, version, gpu, precision in (
            ("a", "10.3.0", "H100", None),
            ("b", "10.16.1", "H200", "fp16"),
            ("c", "10.3.0", "H100", None),
        )
    )
    codes = {"W-OTHER-GPU", "W-OTHER-TENSORRT", "I-OTHER-OPTIONS", "W-PASSPORT"}

    def said(*sides: Path) -> dict[str, str]:
        found = es.compare_plans(*sides).notices
        return {one.code: one.message for one in found if one.code in codes}

    assert set(said(a, b)) == codes - {"W-PASSPORT"}
    assert "A 10.3.0, B 10.16.1" in said(a, b)["W-OTHER-TENSORRT"]
    assert "precision: default and fp16" in said(a, b)["I-OTHER-OPTIONS"]
    assert said(a.parent, b.parent) == said(a, b)
    assert not said(a, c)
    engine = b.with_name("net.engine")
    engine.write_bytes(engine.read_bytes() + b" ")
    assert set(said(a, b)) == {"W-PASSPORT"}
    assert said(a, b)["W-PASSPORT"].startswith("B: net.engine.passport.json belongs to another")
    code, out, _ = verb("compare", a, b)
    assert code == 0
    assert "W-PASSPORT" in out


def test_measured_engines_differ_as_their_passports_say() -> None:
    engine = Subject(name="net.engine", kind="engine", path="/m/net.engine")
    builds = [
        BuildReport(engine="", engine_bytes=1, tensorrt=version, options={"refit": refit})
        for version, refit in (("10.3.0", "1"), ("10.16.1", "0"))
    ]
    jobs = replace(job("trt"), subject=engine), job("trt")
    for one, codes in zip(jobs, ({"W-OTHER-TENSORRT", "I-OTHER-OPTIONS"}, set()), strict=True):
        runs = [process(1.0, seed=seed, job=one, build=build) for seed, build in enumerate(builds)]
        found = es.compare(*map(RunView, runs)).notices
        assert {each.code for each in found if each.code.split("-")[1] == "OTHER"} == codes


def test_a_build_over_an_older_one_has_no_word_of_its_passport(built, verb, tmp_path) -> None:
    model = tmp_path / "net.onnx"
    assert verb("build", model, "-o", built, "--on", "trt", "--dim", "n=3")[0] == 0
    found = es.passport(built)
    assert (found.build.precision, found.notices) == (None, ())
    assert json.loads((tmp_path / "net.engine.passport.json").read_bytes())["notices"] == []


def test_an_engine_alone(tmp_path, verb) -> None:
    engine = tmp_path / "net.engine"
    engine.write_bytes(HEAD)
    code, _, err = verb("explore", engine, "--passport", "--top", "9")
    assert code == 2
    assert "--top with --passport" in err
    code, out, err = verb("explore", "--passport", engine)
    assert code == 0
    assert "10.16.1.11" in out
    assert out.count("not known") >= 6
    assert "its latency is unknown" in out
    assert "enginescope bench --store" in err
    engine.write_bytes(of_rtx(0b11000))
    found = es.passport(engine)
    assert (found.is_rtx, found.compute_capabilities) == (True, ("8.9", "12.0"))


def test_a_plan_and_the_engine_beside_it(tmp_path, verb) -> None:
    plan = tmp_path / "net.graph.json"
    plan.write_bytes(plans.encoded(plans.tensorrt_10()))
    assert es.passport(plan).engine is None
    (tmp_path / "net.plan").write_bytes(HEAD)
    found = es.passport(plan)
    assert (found.file, found.engine.sha256) == ("net.plan", sha256_of(tmp_path / "net.plan"))
    assert sum(share.layers for share in found.precisions) == found.layers
    assert all(share.time_ms is None for share in found.precisions)
    es.passport(plan, tmp_path / "passport.json")
    code, out, _ = verb("explore", plan, "--passport", "--json")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "passport.json").read_bytes())


def test_an_engine_starts_with_its_passport(built, verb) -> None:
    code, out, _ = verb("explore", built)
    assert code == 0
    assert verb("explore", built, "--passport")[1].rstrip() in out
    assert out.startswith(f"{built.name}\n")
    found = json.loads(verb("explore", built, "--json")[1])
    assert found["passport"] == json.loads(verb("explore", built, "--passport", "--json")[1])
    plan = built.with_name("net.engine.graph.json")
    plan.write_bytes(plans.encoded(plans.tensorrt_10()))
    assert "passport" not in json.loads(verb("explore", plan, "--json")[1])


def test_what_trtexec_logged(shared: Path, tmp_path) -> None:
    plans.shortened(shared.glob("trt86-h200/resnet18.*"), tmp_path)
    found = es.passport(tmp_path / "resnet18.graph.json")
    assert found.tensorrt == "8.6.0"
    assert found.device.name == "NVIDIA H200"
    assert {share.precision: share.layers for share in found.precisions} == {"FP16": 38, "FP32": 3}
    assert found.tool.command.startswith("trt/trtexec --tacticSources")
    assert found.tool.options["Build Options"]["Precision"] == "FP32+FP16"


def test_what_is_neither(tmp_path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        es.passport(tmp_path / "none.engine")
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08")
    with pytest.raises(UsageError, match="is a model, not a plan"):
        es.passport(tmp_path / "net.onnx")
    (tmp_path / "net.json").write_text("[")
    with pytest.raises(FormatError):
        es.passport(tmp_path / "net.json")
    engine = tmp_path / "net.engine"
    engine.write_bytes(HEAD)
    with pytest.raises(UsageError, match="cannot write"):
        es.passport(engine, engine)
