"""What a real GPU's runs say: three engines sampled, energy repeated, fp32 and fp16 in turn."""

import json
import tarfile
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides
from enginescope.cli.main import main
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.verdicts.verdict_answer import verdict_table
from enginescope.render.verdicts.verdict_phrases import ratio_note
from enginescope.store.archive import Store
from enginescope.store.row import Filter
from tests.conftest import DATA


def extracted(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        packed.extractall(folder, **safe)  # type: ignore[arg-type]
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extracted(DATA / "trt86-h200-runs" / "runs.tar.xz", tmp_path_factory.mktemp("recorded"))


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
        assert len({row["run"] for row in chart.spec["data"]["values"]}) == 3, chart.key


def compared(folder: Path, capsys, *options: str) -> str:
    assert main(["compare", "cmp-c0dd8fe7", "--store", str(folder), *options]) == 0
    return capsys.readouterr().out


def test_fp16_is_faster_at_one_level_and_other_metrics_are_not_tested(folder, capsys) -> None:
    printed = compared(folder, capsys)
    ratio = "0.696 × A in the median round (99 % CI 0.686 … 0.703)"
    assert f"B is faster: {ratio}, 8 rounds, interleaved" in printed
    table = [line for line in printed.splitlines() if line.startswith(("Throughput", "Load"))]
    assert len(table) == 2
    assert all("not tested" in line for line in table)
    look = "worse by over 1 %, not tested: first inference 1.817 ms → 9.167 ms, build 3,296 ms"
    assert look not in printed
    assert look in " ".join(compared(folder, capsys, "-v").split())
    main(["gate", "--baseline", "cmp-c0dd8fe7", "--store", str(folder), "--all"])
    gated = capsys.readouterr().out
    assert "(99 % CI" in gated
    assert "(95 % CI" not in printed + gated
    (pair,) = json.loads(compared(folder, capsys, "--json"))["measured"]["pairs"]
    tested = {one["metric"]: one["is_tested"] for one in pair["verdicts"]}
    assert tested["load"] is False
    assert next(iter(tested.values())) is True
    assert set(pair["verdicts"][0]["estimate"]["disturbed"]) == {"a", "b", "both", "unstable"}


def test_no_ratio_points_another_way_than_its_figures_without_a_mark(folder) -> None:
    """All pairs of sides of a recorded comparison, and each stretch of eight of its rounds."""
    runs = [one.run for one in views(folder, "cmp-c0dd8fe7")]
    pieces = [[run for run in runs if run.turn.round in range(at, at + 8)] for at in range(0, 8, 2)]
    marked = opposite = 0
    for some in (runs, *pieces):
        first, second = ([run for run in some if run.turn.side == side] for side in "AB")
        for a, b in ((first, second), (second, first), (first[::2], first[1::2])):
            if not a or not b:
                continue
            sides = [
                MeasuredSide(label=label, name=label, runs=tuple(side))
                for label, side in (("A", a), ("B", b))
            ]
            (pair,) = compare_sides(sides).pairs
            made = verdict_table(pair)
            for verdict, row in zip(pair.verdicts, made.rows, strict=True):
                if verdict.estimate is None or not verdict.a:
                    continue
                between = verdict.b / verdict.a
                shown, mark, _ = row[3].replace(",", "").strip().partition("*")
                places = len(shown.partition(".")[2])
                assert (f"{between:.{places}f}" != shown) is bool(mark), row
                marked += bool(mark)
                opposite += bool(mark) and (between - 1) * (verdict.estimate.ratio - 1) < 0
            assert (ratio_note(pair) is None) is not any("*" in row[3] for row in made.rows)
    assert marked > 20
    assert opposite > 0  # the mark is needed
