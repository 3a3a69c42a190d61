"""Real engines, built by TensorRT for RTX through the command line, on a machine without a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.formats.build_log.build_log import build_story_of
from enginescope.formats.plan.engine_file import engine_header
from tests.fakes import models
from tests.wheels import RTX, unpacked

pytestmark = pytest.mark.slow
SHAPES = ("--min-shape", "x:1x1x16", "--opt-shape", "x:1x32x16", "--max-shape", "x:1x64x16")
MORE = ("--min-shape", "x:8x1x16", "--opt-shape", "x:8x32x16", "--max-shape", "x:16x64x16")


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """Variables under which a process finds the wheels, and no GPU."""
    paths = (str(unpacked(*RTX, large=True)), os.environ.get("PYTHONPATH", ""))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "CUDA_VISIBLE_DEVICES": "",
        "ENGINESCOPE_STORE": str(tmp_path_factory.mktemp("store")),
    }


@pytest.fixture(scope="module")
def run(environment):
    """Call the command line; return the finished process."""

    def called(*arguments: object, **variables: str) -> SimpleNamespace:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "enginescope", *map(str, arguments)],
            env={**environment, **variables, "COLUMNS": "1000"},
            capture_output=True,
            text=True,
            timeout=200,
        )

    return called


def build(run, model: Path, *flags: str, on: str = "trt-rtx") -> dict:
    done = run("build", model, "--on", on, "-o", model.with_suffix(".engine"), "--json", *flags)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_a_convolutional_network_and_its_archive(run, tmp_path) -> None:
    model = models.convolutions(tmp_path / "net.onnx")
    found = build(run, model)
    assert found["outcome"]["kind"] == "ok"
    report = found["build"]
    assert report["tensorrt"] == "1.7.1.116"
    assert report["compute_capabilities"] == ["8.0", "8.6", "8.9", "12.0", "12.1", ">12.0"]
    assert [one["code"] for one in found["notices"]] == ["I-LOGGED-PLAN"]
    assert Path(report["engine"]).stat().st_size == report["engine_bytes"]
    plan = json.loads((tmp_path / "net.engine.graph.json").read_text())
    kinds = [layer["LayerType"] for layer in plan["Layers"]]
    assert {"correlation", "maxpool"} <= set(kinds)
    text = run("explore", tmp_path / "net.engine").stdout
    assert "correlation" in text
    assert f"{len(kinds)} layers" in text
    assert build(run, model)["build"]["from_cache"]
    printed = run("build", model, "--on", "trt-rtx", "-o", tmp_path / "net.engine", "--rebuild")
    assert f"its layers: enginescope explore {tmp_path / 'net.engine'}" in printed.stderr
    done = run("archive", "create", tmp_path / "net.tea", *sorted(tmp_path.glob("net.engine*")))
    assert done.returncode == 0, done.stderr
    assert "correlation" in run("explore", tmp_path / "net.tea").stdout


def test_a_log_that_is_kept_tells_memory_and_time(run, tmp_path) -> None:
    model = models.convolutions(tmp_path / "net.onnx")
    build(run, model, "--rebuild", "--option", "log_level=verbose")
    log = tmp_path / "net.engine.build.log"
    story, notices = build_story_of(log.read_bytes(), log.name)
    assert story.memory_totals["Total Activation Memory"] > 0
    assert story.memory_totals["Total Weights Memory"] == 6240
    assert story.memory_totals["Max Scratch Memory"] == story.layer_memory[0].scratch_bytes
    assert [one.scratch_bytes > 0 for one in story.layer_memory] == [True]
    assert 0 < story.stage_s("engine generation") < 60
    assert len(story.layers) == 4
    assert story.steps[0].name == "Original"
    assert "W-LOG-NOT-VERBOSE" not in {one.code for one in notices}


def test_a_transformer_of_two_optimization_profiles(run, tmp_path) -> None:
    model = models.transformer_block(tmp_path / "block.onnx")
    on = "trt-rtx?compute_capabilities=8.9,12.0"
    found = build(run, model, *SHAPES, *MORE, on=on)
    assert found["outcome"]["kind"] == "ok"
    assert found["build"]["compute_capabilities"] == ["8.9", "12.0"]
    engine = tmp_path / "block.engine"
    assert engine_header(engine.read_bytes(), "e").compute_capabilities == ("8.9", "12.0")
    explored = run("explore", engine).stdout
    assert "was built by TensorRT for RTX 1.7.1.116 for compute capability 8.9, 12.0" in explored
    assert "this machine has no" in explored
    assert "this machine has no" not in (tmp_path / "block.engine.build.log").read_text()


def test_a_quantized_network_has_its_precision(run, tmp_path) -> None:
    model = models.quantised_product(tmp_path / "quantized.onnx")
    assert build(run, model)["outcome"]["kind"] == "ok"
    layers = json.loads((tmp_path / "quantized.engine.graph.json").read_text())["Layers"]
    types = {one.get("Datatype") for layer in layers for one in layer["Inputs"] + layer["Outputs"]}
    assert any("int8" in str(kind).lower() for kind in types), types


@pytest.mark.parametrize(
    ("model", "outcome", "why"),
    [
        ("missing_operator", "unsupported", 'node 1 strange (Frobnicate): creator && "Plugin not'),
        ("mismatched", "failed", "last dimension of input0 = 4 and second to last dimension"),
    ],
)
def test_a_model_that_fails_has_the_parsers_words(run, tmp_path, model, outcome, why) -> None:
    found = build(run, getattr(models, model)(tmp_path / "bad.onnx"))
    assert found["build"] is None
    assert found["outcome"]["kind"] == outcome
    assert why in found["outcome"]["message"]


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("refit=1", "compiles engines that can be refitted on the GPU"),
        ("strip_plan=1", "compiles engines that can be refitted on the GPU"),
        ("compute_capabilities=9.0", "builds for 7.5, 8.0, 8.6, 8.9, 12.0, 12.1"),
        ("hardware_compatibility=ampere_plus", "has no such flag"),
        ("version_compatible=1", "libnvinfer_lean"),
    ],
)
def test_what_it_cannot_build_is_said(run, tmp_path, option, why) -> None:
    found = build(run, models.convolutions(tmp_path / "net.onnx"), "--option", option)
    assert found["build"] is None
    assert why in found["outcome"]["message"]


def test_a_machine_without_a_gpu_has_both_facts_in_one_line(run, tmp_path) -> None:
    model = models.convolutions(tmp_path / "net.onnx")
    build(run, model, on="trt?runtime=rtx&compute_capabilities=8.9")
    (tmp_path / "net.engine.graph.json").unlink()
    for verb in ("bench", "explore"):
        done = run(verb, tmp_path / "net.engine")
        assert done.returncode == 2
        (line,) = done.stderr.strip().splitlines()
        assert "TensorRT for RTX 1.7.1.116 runs on compute capability 7.5, 8.0, 8.6" in line
        assert "this machine" in line
        assert "enginescope build MODEL --on trt-rtx" in line
        assert ("for compute capability 8.9" in line) is (verb == "explore")
    backends = {one["name"]: one for one in json.loads(run("doctor", "--json").stdout)["backends"]}
    assert not backends["trt-rtx"]["usable"]
    assert "runs on compute capability" in backends["trt-rtx"]["detail"]


def test_process_builds_and_says_why_it_does_not_measure(run, environment, tmp_path) -> None:
    model, folder = models.convolutions(tmp_path / "net.onnx"), tmp_path / "files"
    on = ("--on", "trt-rtx?compute_capabilities=8.9", "--store", environment["ENGINESCOPE_STORE"])
    done = run("process", model, folder, *on)
    assert done.returncode == 2
    assert "runs on compute capability" in done.stderr.splitlines()[-1]
    ends = ("", ".build.log", ".build.metadata.json", ".graph.json")
    assert {one.name for one in folder.iterdir()} == {f"net.onnx.engine{end}" for end in ends}
    header = engine_header((folder / "net.onnx.engine").read_bytes(), "e")
    assert header.compute_capabilities == ("8.9",)
    assert run("process", model, folder, "--on", "ort-cpu").returncode == 2


def test_progress_is_reported(run, tmp_path) -> None:
    """Phases of a real build, and the cache that TensorRT for RTX does not have."""
    command = [sys.executable, "-c", PHASES, models.convolutions(tmp_path / "net.onnx")]
    env = {**os.environ, "PYTHONPATH": (str(unpacked(*RTX, large=True)) + os.pathsep + SOURCE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["phases"]
    assert found["fractions"][-1] > 0
    assert found["cache"] is None
    assert "no-ops" in found["warning"]


SOURCE = str(Path(__file__).resolve().parents[3] / "src")
PHASES = """
import json, sys, warnings
from enginescope.backends.tensorrt.build import build
from enginescope.backends.tensorrt.libraries import load
build._INTERVAL_S = 0
trt = load("rtx").trt
seen = []
logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network(0)
assert trt.OnnxParser(network, logger).parse_from_file(sys.argv[1])
config = builder.create_builder_config()
config.progress_monitor = build.make_monitor(trt, seen.append)
assert builder.build_serialized_network(network, config) is not None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    cache = config.get_timing_cache()
print(json.dumps({
    "phases": [one.detail for one in seen],
    "fractions": [one.fraction for one in seen if one.fraction is not None],
    "cache": cache,
    "warning": " ".join(str(one.message) for one in caught),
}))
"""
