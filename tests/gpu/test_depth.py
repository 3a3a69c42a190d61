"""Depth-Anything-small in FP16 against FP32 on TensorRT: the verb ``depth`` from end to end.

Its weights may be random: what is asked is that both engines see the same, that the figures against
known depth are those computed alone, and that the GPU was sampled.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.cli.main import main
from enginescope.formats.tensors.tensor_files import answer_file, read_answers
from tests.analysis.tasks.test_depth import by_hand
from tests.depth_models import scene
from tests.gpu.conftest import MODELS, spec

FIGURES = ("depth_comparison.png", "speed_benchmark.png", "gpu_utilization.png")
#: Of the picture, in pixels: another size than the input, as pictures have.
SIZE = (240, 320)


@pytest.fixture(scope="module")
def model() -> Path:
    found = Path(MODELS or "") / "depth_anything_small.onnx"
    if not MODELS or not found.is_file():
        pytest.skip("no depth_anything_small.onnx among ENGINESCOPE_GPU_MODELS")
    return found


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pictures in ``images`` and their depth in ``gt``."""
    root = tmp_path_factory.mktemp("pictures")
    for number in range(4):
        scene(root / "images", root / "gt", f"img{number}", number, SIZE)
    return root


@pytest.fixture(scope="module")
def compared(model: Path, pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``depth`` leaves: FP32 first, FP16 held against it."""
    folder = tmp_path_factory.mktemp("depth")
    arguments = [
        *("depth", "--engines", model, "--on", spec(), spec("fp16")),
        *("--image", pictures / "images" / "img0.png"),
        *("--metric-images-dir", pictures / "images", "--metric-gt-dir", pictures / "gt"),
        *("--iterations", 200, "--output-dir", folder / "out", "--store", folder / "store"),
    ]
    assert main([str(one) for one in arguments]) == 0
    return folder


def figures(compared: Path) -> Any:
    return json.loads((compared / "out" / "depth.json").read_text())


def test_fp16_sees_what_fp32_sees(compared) -> None:
    found = figures(compared)
    (apart,) = found["agreement"]["sides"]
    print("FP16 to FP32, maps of 0…1:", apart["values"], apart["more"])
    assert all(side["map_greatest"] > side["map_least"] for side in found["sides"])
    assert 0 <= apart["values"]["mae"] <= apart["values"]["rmse"] <= apart["values"]["max_error"]
    assert apart["values"]["rmse"] < 0.05
    first, second = (side["values"] for side in found["quality"]["sides"])
    for name in ("abs_rel", "rmse_log", "d1"):
        assert second[name] == pytest.approx(first[name], rel=0.02, abs=0.005), name
    assert found["quality"]["num_samples"] == 4


def test_both_were_timed_and_their_gpu_sampled(compared) -> None:
    found = figures(compared)
    for side in found["sides"]:
        print(side["side"], side["latency"]["median_ms"], "ms on", side["gpu"])
        assert side["outcome"] == "ok"
        assert side["latency"]["n"] == 200
        assert "W-NO-TELEMETRY" not in [one["code"] for one in side["notices"]]
    for name in FIGURES:
        assert (compared / "out" / name).stat().st_size > 10_000, name


def test_validate_scores_the_task_on_both(model, pictures, tmp_path) -> None:
    out = tmp_path / "out"
    arguments = [
        *("validate", model, "--reference", spec(), "--on", spec("fp16")),
        *("--task", "depth?max_depth=8", "--normalise", "imagenet", "--image-size", "518x518"),
        *("--images", pictures / "images", "--targets", pictures / "gt"),
        *("--output", out, "--store", tmp_path / "store"),
    ]
    assert main([str(one) for one in arguments]) in (0, 1)  # random weights may be beyond a limit
    task = json.loads((out / "output_diff.json").read_text())["task"]
    folders = ("reference", "side-1")
    for side, folder in zip(task["sides"], folders, strict=True):
        rows = []
        for number in range(4):
            (answer,) = read_answers(answer_file(out / "samples" / folder, number))
            depth = answer.data.astype(np.float64).reshape(answer.shape[-2:])
            known = np.load(pictures / "gt" / f"img{number}.npy").astype(np.float64)
            rows.append(by_hand(resized(depth, known.shape), known, 1e-3, 8))
        for name, value in side["values"].items():
            assert value == pytest.approx(np.mean([one[name] for one in rows]), rel=1e-6), name


def resized(depth: Any, size: tuple[int, int]) -> Any:
    """Bilinear with half-pixel centers, one pixel at a time."""
    high, wide = depth.shape
    found = np.empty(size)
    for row in range(size[0]):
        y = min(max((row + 0.5) * high / size[0] - 0.5, 0), high - 1)
        top = int(y)
        low = min(top + 1, high - 1)
        for column in range(size[1]):
            x = min(max((column + 0.5) * wide / size[1] - 0.5, 0), wide - 1)
            left = int(x)
            right = min(left + 1, wide - 1)
            upper = depth[top, left] * (1 - (x - left)) + depth[top, right] * (x - left)
            lower = depth[low, left] * (1 - (x - left)) + depth[low, right] * (x - left)
            found[row, column] = upper * (1 - (y - top)) + lower * (y - top)
    return found
