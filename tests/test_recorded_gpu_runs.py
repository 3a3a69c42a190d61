"""What a real GPU's runs say: three engines sampled, energy repeated, fp32 and fp16 in turn."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from enginescope.analysis.run_view import RunView
from enginescope.cli.main import main
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.store.archive import Store
from enginescope.store.row import Filter

ARCHIVE = Path(__file__).parent / "data" / "trt86-h200-runs" / "runs.tar.xz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("recorded")
    with tarfile.open(ARCHIVE) as archive:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(found, **safe)  # type: ignore[arg-type]
    return found


def views(folder: Path, *tags: str) -> list[RunView]:
    store = Store(folder)
    rows = [row for tag in tags for row in store.select(Filter(tag=tag))]
    return [RunView(store.load_id(row.id)) for row in rows]


def test_repeated_energy_agrees_within_3_percent(folder) -> None:
    runs = [*views(folder, "energy-1", "energy-2", "energy-3"), *views(folder, "tel")]
    found = [one.energy for one in runs if one.run.job.subject.name == "vit_b_16.onnx"]
    assert len(found) == 4
    joules = [one.joules for one in found if one is not None and one.method == "counter"]
    assert len(joules) == 4
    assert max(joules) < 1.03 * min(joules)
    assert 0.18 < min(joules) < 0.20


def test_three_engines_are_drawn_with_a_line_each(folder) -> None:
    found = views(folder, "tel")
    assert len(found) == 3
    charts = telemetry_charts(found)
    names = {one.run.job.subject.name for one in found}
    assert names == {"resnet18.onnx", "vit_b_16.onnx", "depth_anything_small.onnx"}
    assert len(charts) == 6
    for chart in charts:
        rows = chart.spec["data"]["values"]
        assert len({row["run"] for row in rows}) == 3, chart.key


def test_fp16_is_faster_than_fp32(folder, capsys) -> None:
    assert main(["compare", "cmp-c0dd8fe7", "--store", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "B is faster: 0.696 × A (95 % CI 0.686 … 0.703), 8 processes a side" in printed
