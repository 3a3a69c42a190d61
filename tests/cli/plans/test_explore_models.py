"""``explore`` of a model: it is measured, its run is stored, and the executed graph is shown."""

import json

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.records.plan.plan import EXECUTED
from enginescope.records.run.job import StopRule, Workload
from enginescope.store.archive import Store
from tests.cli.called import called

pytestmark = pytest.mark.usefixtures("in_process")
QUICK = ("--max-time", "200ms")


def test_a_model_is_measured_and_its_executed_graph_shown(tmp_path, convnet) -> None:
    page = tmp_path / "net.html"
    ended = called("explore", "--store", tmp_path, convnet, *QUICK, "--html", page)
    assert ended.returncode == 0, ended.stderr
    (row,) = Store(tmp_path).rows()
    run = Store(tmp_path).load(row.id)
    assert run.plan.source_schema == EXECUTED
    shown = " ".join(ended.stdout.split())
    assert "graph that the runtime executed" in shown
    assert "Slowest layers" in shown
    assert f"enginescope lint --store {tmp_path} {run.id[:8]}" in ended.stderr
    assert "Where to look: the slowest layers" in page.read_text()


def test_a_layer_has_one_time_in_the_run_and_in_its_plan(tmp_path, convnet) -> None:
    ended = called("explore", "--store", tmp_path, convnet, *QUICK, "--json")
    found = json.loads(ended.stdout)
    again = json.loads(called("explore", "--store", tmp_path, "latest", "--json").stdout)
    assert [one["time_ms"] for one in found["layers"]] == [
        one["time_ms"] for one in again["layers"]
    ]
    listed = sum(one["time_ms"] or 0.0 for one in found["layers"])
    assert found["time"]["sum_ms"] == pytest.approx(listed)
    assert RunView(Store(tmp_path).load("latest")).layer_sum.sum_ms == pytest.approx(listed)


def test_python_measures_and_stores_only_where_a_store_is_named(
    tmp_path, convnet, monkeypatch
) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "usual"))
    quick = Workload(stop=StopRule(iterations=5))
    found = es.explore(convnet, on="ort-cpu?intra_op_num_threads=1", workload=quick)
    assert found.found.plan_schema == EXECUTED
    assert not Store(tmp_path / "usual").rows()
    es.explore(convnet, workload=quick, store=tmp_path / "mine")
    assert len(Store(tmp_path / "mine").rows()) == 1


def test_shapes_reach_the_measurement_and_no_model_fails_as_bench_does(tmp_path, convnet) -> None:
    ended = called("explore", "--store", tmp_path, convnet, *QUICK, "--batch", "2", "--json")
    assert ended.returncode == 0, ended.stderr
    assert Store(tmp_path).load("latest").inputs[0].shape[0] == 2
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08")
    ended = called("explore", "--store", tmp_path, tmp_path / "net.onnx", *QUICK)
    assert ended.returncode == 3
    assert "not a valid ONNX model" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.onnx"], "absent.onnx"),
        (["MODEL", "--sort", "colour"], "colour"),
        (["MODEL", "--on", "ort-cpuu"], "ort-cpu"),
        (["MODEL", "--overlay", "MODEL"], "--html"),
        (["MODEL", "--profile", "MODEL"], "it belongs to a plan file"),
        (["latest", "--batch", "2"], "is not measured"),
    ],
)
def test_a_mistake_is_told_before_anything_is_measured(
    tmp_path, convnet, arguments, message
) -> None:
    named = [str(convnet) if one == "MODEL" else one for one in arguments]
    ended = called("explore", "--store", tmp_path, *named)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not Store(tmp_path).rows()


def test_lint_reads_the_graph_that_was_executed(tmp_path, convnet) -> None:
    called("explore", "--store", tmp_path, convnet, *QUICK)
    ended = called("lint", "--store", tmp_path, "latest", "--json")
    (report,) = json.loads(ended.stdout)["plans"]
    assert "PLAN104" in report["rules"]
    assert "PLAN101" not in report["rules"]  # it speaks of NVIDIA's tensor cores
