"""``validate --task``: pairs by base name, limits, sides alone, on pictures made here."""

import json
from pathlib import Path

import numpy as np
import pytest

from enginescope.cli.main import main
from tests.analysis.tasks.test_depth import by_hand
from tests.cli.accuracy.test_depth import seen
from tests.cli.accuracy.test_validate import run
from tests.depth_models import depth_model, scene

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return depth_model(tmp_path / "net.onnx")


@pytest.mark.slow
def test_one_model_against_targets(tmp_path, capsys, net) -> None:
    images, targets = tmp_path / "images", tmp_path / "gt"
    scenes = [scene(images, targets, f"img{n:03}", n) for n in range(5)]
    (images / "img001.png").rename(images / "other.png")
    given = ("--images", images, "--targets", targets, "--normalise", "imagenet")
    out = tmp_path / "out"
    status, found = run(capsys, net, "--task", "depth?max_depth=8", *given, "-o", out)
    assert status == 0
    task = found["task"]
    rows = [
        by_hand(seen(net, pixels), known.astype(np.float64), 1e-3, 8)
        for number, (pixels, known) in enumerate(scenes)
        if number != 1
    ]
    (side,) = task["sides"]
    for name, value in side["values"].items():
        assert value == pytest.approx(np.mean([one[name] for one in rows]), abs=1e-6), name
    assert task["left_out"] == [{"sample": "other.png", "why": "no target"}]
    assert task["targets_without_sample"] == ["img001"]
    each = json.loads((out / "per_sample_diff.json").read_text())["task"][0]["samples"]
    assert [one["name"] for one in each] == [f"img{n:03}.png" for n in (0, 2, 3, 4)]
    page = (out / "validate.html").read_text()
    assert "Depth against the targets" in page
    assert "other.png: no target" in page
    limit = ("--limit", f"abs_rel:{0.9 * side['values']['abs_rel']}")
    status, found = run(capsys, net, "--task", "depth?max_depth=8", *given, *limit)
    assert status == 1
    assert found["task"]["sides"][0]["broken_limits"][0]["metric"] == "abs_rel"
    main(["validate", str(net), "--task", "depth", *map(str, given), "--limit", "d1:1.1"])
    assert "is below its limit of 1.1" in capsys.readouterr().out


@pytest.mark.slow
def test_without_targets_sides_are_held_against_the_reference(tmp_path, capsys, net) -> None:
    worse = depth_model(tmp_path / "worse.onnx", noise=0.05)
    given = (net, worse, "--task", "depth", "--samples", 2, "--tolerance", "fp4")
    status, found = run(capsys, *given)
    assert status == 0
    assert found["task"]["against"] == "reference"
    (side,) = found["task"]["sides"]
    assert 0 < side["values"]["mae"] < side["values"]["rmse"] < side["values"]["max_error"] < 1
    assert run(capsys, *given, "--limit", "rmse:1e-4")[0] == 1


@pytest.mark.slow
def test_where_nobody_answers_no_limit_is_kept(tmp_path, capsys, net) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(net.read_bytes()[:-40])
    arguments = (broken, "--reference", net, "--samples", 1, "--task", "depth", "--limit", "mae:1")
    status = main(["validate", *map(str, arguments)])
    said = capsys.readouterr()
    assert status in (2, 3), said
    assert "every limit is kept" not in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--targets", "gt"), "there is no task"),
        (("--limit", "d1:0.9"), "there is no task"),
        (("--task", "dept"), "did you mean depth"),
        (("--task", "depth?align"), "'align' is not an option"),
        (("--task", "depth", "--targets", "nowhere"), "no such folder"),
        (("--task", "depth", "--limit", "d1:0.9"), "no metric 'd1' without targets"),
        (("--task", "depth", "--limit", "d1"), "is not METRIC:NUMBER"),
        (("--task", "depth", "--targets", "gt", "--limit", "d9:1"), "one of: 'abs_rel', 'd1'"),
        (("--task", "depth", "--targets", "gt", "--image-fit", "crop"), "the whole image"),
        (("--task", "depth", "--images", "nowhere"), "no such file or folder"),
        (("--task", "depth", "--images", "gt"), "it has no image"),
        (("--task", "depth", "--images", "images", "--random"), "each of them selects"),
        (("--task", "depth", "--images", "images"), "nothing to compare"),
    ],
)
def test_mistakes_are_said_in_a_line(tmp_path, capsys, monkeypatch, net, arguments, said) -> None:
    monkeypatch.chdir(tmp_path)
    scene(tmp_path / "images", tmp_path / "gt", "img", 1)
    assert main(["validate", str(net), *arguments]) == 2
    assert said in capsys.readouterr().err
