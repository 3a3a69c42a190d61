"""Files as they lie in public repositories: each opens with its tool, its version, its figures."""

from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.formats.importing.importer import import_artifacts
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.run import Run
from enginescope.records.verdict.upgrade import UpgradeKind
from enginescope.render.verdicts.upgrade_answer import answer_text
from enginescope.render.verdicts.verdict_phrases import headline_sentence
from tests.analysis.in_turn import named

TORCH = "gaunernst_bert-small-uncased__1016001.json.gz"
#: File -> for each run: backend, tool, version of TensorRT or the runtime, its figures.
FILES: dict[str, tuple[tuple[str, str | None, str | None, dict[str, float]], ...]] = {
    "trt10.16_h100_trtexec_default.log": (
        ("trtexec", "trtexec", "10.16.1", {"per_s": 15374.3, "median": 0.0440674}),
    ),
    "trt10.16_h100_trtexec_build_verbose.log": (
        ("trtexec", "trtexec", "10.16.1", {"build_s": 24.4854}),
    ),
    "trt10.16_h100_trtexec_run_verbose_graph.log": (
        ("trtexec", "trtexec", "10.16.1", {"per_s": 24896.9, "median": 0.0388184}),
    ),
    "trt10.16_h100_trtexec_dumpProfile.log": (
        ("trtexec", "trtexec", "10.16.1", {"timed": 15, "sum_ms": 0.0833}),
    ),
    "trt10.16_h100_trtexec_plugin_enqueuebound.log": (
        ("trtexec", "trtexec", "10.16.1", {"per_s": 27315.5, "median": 0.0128174}),
    ),
    "trt10.16_h100_exportLayerInfo.json": (("tensorrt", None, None, {"layers": 9}),),
    "trt10.16_h100_engine_inspector_txt_json.log": (("trt", "tensorrt", None, {"layers": 26}),),
    "trt10_vit_int8_layers.json": (("tensorrt", None, None, {"layers": 139}),),
    "trt10_vit_int8_engine_inspector.json": (("tensorrt", None, None, {"layers": 179}),),
    "trt10_vit_int8_profile.json": (("trtexec", None, None, {"timed": 139}),),
    "trt10_onnx_mobilenet_v2_engine_info.json": (("tensorrt", None, None, {"layers": 59}),),
    "trt10_onnx_mobilenet_v2_layer_latency.json": (
        ("tensorrt", None, None, {"timed": 59, "iterations": 100, "sum_ms": 0.708519}),
    ),
    "trt10.14_rtx6000ada_trtexec_default.log": (
        ("trtexec", "trtexec", "10.14.1", {"per_s": 23188.6, "median": 0.0383301}),
    ),
    "trt10.16.0_rtx6000ada_trtexec_default.log": (
        ("trtexec", "trtexec", "10.16.0", {"per_s": 20235.1, "median": 0.038269}),
    ),
    "trt10.14_rtx6000ada_exportLayerInfo.json": (("tensorrt", None, None, {"layers": 9}),),
    "trt10.16.0_rtx6000ada_exportLayerInfo.json": (("tensorrt", None, None, {"layers": 9}),),
    "trt10.16_h100_profiling_verbosity.log": (
        ("trt", "tensorrt", "10.16.2", {"build_s": 14.1476}),
        ("trt", "tensorrt", "10.16.2", {"build_s": 12.7028}),
        ("trt", "tensorrt", "10.16.2", {"build_s": 12.2193, "layers": 26}),
    ),
    "trt10.16_h100_engine_printer_two_profiles.log": (
        ("trtexec", "trtexec", "10.16.1", {"build_s": 9.3282}),
        ("trtexec", "trtexec", "10.16.1", {"build_s": 20.3699}),
    ),
    "polygraphy0.49.26_run_compare.log": (
        ("ort-cpu", "polygraphy", "1.24.4", {"mean": 1.599}),
        ("trt", "polygraphy", "10.16.2.5", {"mean": 3.724, "build_s": 13.793}),
    ),
    f"torchprof_h100_{TORCH}": (("torch", None, "12.4", {"timed": 10, "sum_ms": 0.309437}),),
    f"torchprof_mi300_{TORCH}": (("torch", None, None, {"timed": 10, "sum_ms": 0.390748}),),
}
GPUS = {"h100": "H100", "rtx6000ada": "RTX 6000 Ada"}


@pytest.fixture
def field(shared: Path) -> Path:
    folder = shared / "field"
    if not folder.is_dir():
        pytest.skip(f"files of others are not at {folder}")
    return folder


def figures(run: Run) -> dict[str, float | None]:
    tool, profile, printed = run.tool, run.profile, run.printed
    return {
        "per_s": tool.throughput_per_s if tool else None,
        "build_s": tool.build_s if tool else None,
        "median": printed.median_ms if printed else None,
        "mean": printed.mean_ms if printed else None,
        "layers": len(run.plan.layers) if run.plan else None,
        "timed": len(profile.layers) if profile else None,
        "iterations": profile.iterations if profile else None,
        "sum_ms": layer_times(profile).sum_ms if profile else None,
    }


@pytest.mark.parametrize("name", FILES)
def test_a_file_opens_with_its_tool_version_and_figures(field, name) -> None:
    found = import_artifacts([field / name])
    assert found.skipped == ()
    for run, (backend, tool, version, stated) in zip(found.runs, FILES[name], strict=True):
        assert run.job.backend.name == backend
        assert (run.tool.tool if run.tool else None) == tool
        assert next(iter(run.environment.versions.values()), None) == version
        known = figures(run)
        for key, value in stated.items():
            assert known[key] == pytest.approx(value, rel=2e-3 if key == "sum_ms" else 1e-9), key
        for key, gpu in GPUS.items():
            if key in name and "trtexec" in name:
                assert [one.name for one in run.environment.devices if gpu in one.name]


def test_every_file_of_the_index_is_in_the_table(field) -> None:
    rows = (field / "INDEX.tsv").read_text().splitlines()[1:]
    assert {row.partition("\t")[0] for row in rows} == FILES.keys()


def test_the_version_pair_has_a_slower_host_and_the_same_gpu(field) -> None:
    logs = [field / f"{name}_rtx6000ada_trtexec_default.log" for name in ("trt10.14", "trt10.16.0")]
    found = compare_sides(named(*[import_artifacts([log]).runs for log in logs]))
    assert headline_sentence(found.pairs[0]) == (
        "Printed figures of B against A: throughput −12.7 %, GPU compute time +0.43 %, "
        "enqueue time +8.8 %: the host is slower, not the GPU"
    )
    assert not found.is_decided
    upgrade = es.upgrade(old=logs[0], new=logs[1])
    assert upgrade.kind is UpgradeKind.INCONCLUSIVE
    assert upgrade.models[0].evidence is EvidenceLevel.PRINTED
    assert answer_text(upgrade) == (
        "upgrade is inconclusive: printed figures alone say: the host is slower, not the GPU "
        "(throughput −12.7 %, GPU compute time +0.43 %, enqueue time +8.8 %)"
    )
    rows = {row.metric: (row.old, row.new) for row in upgrade.models[0].rows}
    assert rows["build"] == (pytest.approx(2605.77), pytest.approx(2899.85))
    assert rows["engine_size"] == (13183116, 13180914)


def test_the_plans_of_the_version_pair_differ_in_tactics_alone(field, tmp_path) -> None:
    for side, name in (("old", "trt10.14"), ("new", "trt10.16.0")):
        (tmp_path / side).mkdir()
        for ending, end in (("trtexec_default.log", "log"), ("exportLayerInfo.json", "graph.json")):
            source = field / f"{name}_rtx6000ada_{ending}"
            (tmp_path / side / f"net.{end}").write_bytes(source.read_bytes())
    layers = es.upgrade(old=tmp_path / "old", new=tmp_path / "new").models[0].layers
    assert (layers.old, layers.new, layers.paired, layers.differing) == (9, 9, 9, 5)
    assert {change for one in layers.layers for change in one.changes} == {"tactic"}


def test_plan_and_layer_times_of_a_script_join(field) -> None:
    names = ("engine_info", "layer_latency")
    (run,) = import_artifacts([field / f"trt10_onnx_mobilenet_v2_{one}.json" for one in names]).runs
    rows = RunView(run).layers
    assert len(rows) == 59
    assert all(row.time_ms is not None for row in rows)
