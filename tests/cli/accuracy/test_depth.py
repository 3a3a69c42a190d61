"""``depth`` from end to end on ONNX Runtime, over a network, pictures and depth made here."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from PIL import Image

from enginescope.backends.registry import parse_backend
from enginescope.cli.accuracy.depth import _repeated
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.formats.tensors.tensor_files import read_answers
from enginescope.render.depth import depth_answer
from enginescope.services.accuracy.depth_run import on_gpu
from enginescope.store import run_folder
from tests.analysis.in_turn import job
from tests.analysis.tasks.test_depth import by_hand
from tests.depth_models import depth_model, scene
from tests.fakes.fake_gpus import NVML
from tests.fakes.loading import environment

pytestmark = pytest.mark.usefixtures("in_process")

FIGURES = ("depth_comparison.png", "speed_benchmark.png")


def seen(model: Path, pixels: Any) -> Any:
    """What ONNX Runtime alone answers to a picture of the input's own size."""
    scaled = pixels.astype(np.float32) / np.float32(255)
    mean = np.array((0.485, 0.456, 0.406), dtype=np.float32)
    std = np.array((0.229, 0.224, 0.225), dtype=np.float32)
    fed = ((scaled - mean) / std).transpose(2, 0, 1)[None]
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": fed})[0][0, 0].astype(np.float64)


def run(capsys, folder: Path, *arguments: Any) -> tuple[int, Any]:
    given = ("--store", folder / "store", "--output-dir", folder / "out", "--json")
    status = main(["depth", *map(str, (*arguments, *given, "--iterations", 12, "--warmup", 2))])
    text = capsys.readouterr().out
    return status, json.loads(text) if text else None


@pytest.mark.slow
def test_figures_over_twenty_pictures_are_those_computed_alone(tmp_path, capsys) -> None:
    net = depth_model(tmp_path / "net.onnx")
    worse = depth_model(tmp_path / "worse.onnx", noise=0.05)
    images, targets = tmp_path / "images", tmp_path / "gt"
    scenes = [scene(images, targets, f"img{n:03}", n) for n in range(20)]
    (targets / "img004.npy").unlink()
    np.save(targets / "stranger.npy", np.ones((2, 2)))
    before = sorted(tmp_path.rglob("*"))
    status, found = run(
        capsys,
        tmp_path,
        *("--engines", net, worse, "--image", images / "img000.png"),
        *("--metric-images-dir", images, "--metric-gt-dir", targets, "--max-depth", 8),
    )
    assert status == 0
    quality = found["quality"]
    for model, side in zip((net, worse), quality["sides"], strict=True):
        rows = [
            by_hand(seen(model, pixels), known.astype(np.float64), 1e-3, 8)
            for number, (pixels, known) in enumerate(scenes)
            if number != 4
        ]
        for name, value in side["values"].items():
            assert value == pytest.approx(np.mean([one[name] for one in rows]), abs=1e-6), name
    assert quality["num_samples"] == 19
    assert quality["left_out"] == [{"sample": "img004.png", "why": "no target"}]
    assert quality["targets_without_sample"] == ["stranger"]
    unit = [
        (one - one.min()) / np.ptp(one) for one in (seen(m, scenes[0][0]) for m in (net, worse))
    ]
    (apart,) = found["agreement"]["sides"]
    assert apart["values"]["mae"] == pytest.approx(np.abs(unit[1] - unit[0]).mean(), abs=1e-6)
    assert [one["latency"]["n"] for one in found["sides"]] == [12, 12]
    for name in FIGURES:
        with Image.open(tmp_path / "out" / name) as picture:
            assert min(picture.size) > 400
    ours = (tmp_path / "out", tmp_path / "store")
    after = [one for one in tmp_path.rglob("*") if not any(x in (one, *one.parents) for x in ours)]
    assert sorted(after) == before


@pytest.mark.slow
def test_one_model_of_a_dynamic_size_with_known_depth(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(depth_answer, "_SCALE", 0.25)
    net = depth_model(tmp_path / "net.onnx", size=("height", "width"))
    scene(tmp_path / "a", tmp_path / "b", "view", 3, (40, 60))
    picture, known = tmp_path / "a" / "view.png", tmp_path / "b" / "view.npy"
    arguments = ("--engines", net, "--image", picture, "--gt", known, "--input-size", 32)
    status, found = run(capsys, tmp_path, *arguments)
    assert status == 0
    (side,) = found["sides"]
    assert side["map_shape"] == [32, 32]
    assert found["agreement"] is None
    assert found["quality"]["num_samples"] == 1
    assert np.load(tmp_path / "out" / "inputs" / "1.npz")["image"].shape == (1, 3, 32, 32)
    assert main(["runs", "--store", str(tmp_path / "store")]) == 0


@pytest.mark.slow
def test_on_a_gpu_its_telemetry_is_drawn(tmp_path) -> None:
    """On the stand-ins for TensorRT and NVML, in processes as always."""
    net = depth_model(tmp_path / "net.onnx", size=("height", "width"))
    scene(tmp_path / "a", tmp_path / "b", "view", 3, (40, 60))
    arguments = (
        *("depth", "--engines", net, "--on", "trt", "--image", tmp_path / "a" / "view.png"),
        *("--input-size", 32, "--iterations", 20, "--warmup", 2, "--telemetry-time", "500ms"),
        *("--gpu-sample-interval", 0.02, "--store", tmp_path / "s", "--output-dir", tmp_path / "o"),
    )
    variables = {**os.environ, **environment("10.16.1"), "FAKE_NVML": "h200"}
    variables["PYTHONPATH"] = f"{NVML}{os.pathsep}{variables['PYTHONPATH']}"
    command = [sys.executable, "-m", "enginescope", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "W-NO-TELEMETRY" not in ended.stdout
    found = json.loads((tmp_path / "o" / "depth.json").read_text())
    assert found["sides"][0]["gpu"] == "NVIDIA H200"
    with Image.open(tmp_path / "o" / "gpu_utilization.png") as picture:
        assert picture.height > 1_200  # four quantities above each other


def test_engines_take_all_that_follows_and_the_gpu_s_number_goes_to_backends_of_gpus() -> None:
    given = ["--engines", "a", "b", "c", "--image", "x.png", "--engines", "d", "--gpu-id", "0"]
    assert _repeated(given, ("--engines",)) == [  # as the old script did
        *("--engines", "a", "--engines", "b", "--engines", "c"),
        *("--image", "x.png", "--engines", "d", "--gpu-id", "0"),
    ]
    for spec, number, wanted in (
        ("trt:fp16?refit=1", 1, "trt:fp16?device=1&refit=1"),
        ("ort-cuda", 2, "ort-cuda?device_id=2"),
        ("trt?device=3", 1, "trt?device=3"),
        ("trt", 0, "trt"),
        ("ort-cpu", 1, "ort-cpu"),
    ):
        placed = on_gpu(replace(job(), backend=parse_backend(spec)), number)
        assert placed.backend == parse_backend(wanted)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("net.onnx --image gone.png", "no such file"),
        ("net.onnx", "Missing option '--image'"),
        ("net.onnx --image view.png --metric-gt-dir .", "each is of no use without the other"),
        ("net.onnx --image view.png --output-dir .", "it contains models or data"),
        ("net.onnx --image view.png --input-size 99", "input image of net.onnx is 1×3×24×32"),
        ("gone.onnx --image view.png", "no such file"),
    ],
)
def test_mistakes_are_said_in_a_line(tmp_path, capsys, monkeypatch, arguments, said) -> None:
    monkeypatch.chdir(tmp_path)
    depth_model(tmp_path / "net.onnx")
    scene(tmp_path, tmp_path, "view", 1)
    assert main(["depth", "--engines", *arguments.split(), "--store", "store"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "benchmark_results").exists()


@pytest.mark.slow
def test_a_damaged_picture_a_full_disk_and_named_sizes(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(depth_answer, "_SCALE", 0.25)
    net = depth_model(tmp_path / "net.onnx", size=("high", "wide"))
    images, targets = tmp_path / "images", tmp_path / "gt"
    for n in range(3):
        scene(images, targets, f"img{n}", n)
    (images / "img1.png").write_bytes(b"no picture")

    def full(_run: Any, folder: Path, **_more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder))

    monkeypatch.setattr(run_folder, "write_run", full)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "speed_benchmark.png").symlink_to("/dev/full")
    given = ("--engines", net, "--image", images / "img0.png", "--dim", "high=24")
    given += ("--dim", "wide=32")
    several = ("--metric-images-dir", images, "--metric-gt-dir", targets)
    store = ("--store", tmp_path / "store", "--output-dir", tmp_path / "out", "--json")
    timing = ("--iterations", 12, "--warmup", 2)
    assert main(["depth", *map(str, (*given, *several, *store, *timing))]) == 3
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["quality"]["num_samples"] == 2
    assert [one["sample"] for one in found["quality"]["left_out"]] == ["img1.png"]
    for part in ("1 run was measured but not stored", "speed_benchmark.png could not be stored"):
        assert part in shown.err
    fed = read_answers(tmp_path / "out" / "inputs" / "1.npz")
    assert [one.shape for one in fed] == [(1, 3, 24, 32)]
