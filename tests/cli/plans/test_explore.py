"""``explore`` of plans and runs, and of models: these are measured, stored and shown."""

import csv
import json
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.records.plan.plan import EXECUTED
from enginescope.records.run.job import StopRule, Workload
from enginescope.services.declared import declared
from enginescope.services.plans.explore_request import ExploreRequest
from enginescope.store.archive import Store
from tests.analysis.layers.test_layer_table import several
from tests.cli.called import called
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES
from tests.render.runs import imported_run, measured_run
from tests.store.test_archive import a_run

pytestmark = pytest.mark.usefixtures("in_process")
QUICK = ("--max-time", "200ms")


@pytest.fixture
def plan(store, tmp_path) -> Path:
    folder = tmp_path / "engines"
    folder.mkdir()
    (folder / "net.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    (folder / "net.profile.json").write_text(json.dumps(TIMES))
    return folder / "net.graph.json"


def test_a_plan_with_its_neighbours(plan, capsys) -> None:
    assert main(["explore", str(plan)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("net\n")
    assert "The layers add up to 1.000 ms" in shown.out
    assert shown.err.splitlines() == [
        f"  one page: enginescope explore {plan} --html plan.html",
        f"  find problems: enginescope lint {plan}",
    ]


def test_named_files_and_folders_of_one_engine(plan, tmp_path, capsys) -> None:
    times, timing = tmp_path / "t.json", tmp_path / "m.json"
    times.write_text(json.dumps([{"count": 2}, {"name": "conv + relu", "averageMs": 3.0}]))
    summary = {"GPU Compute Time": [1.0, 2.0, 1.5, 1.5, 1.9]}
    timing.write_text(json.dumps({"performance_summary": summary}))
    assert main(["explore", str(plan), "--profile", str(times), "--metadata", str(timing)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "3.000 ms" in shown
    assert "the profiler reported 3.000 ms" in shown
    assert "GPU compute time 1.500 ms" in shown
    assert main(["explore", str(plan.parent)]) == 0
    assert "conv + relu" in capsys.readouterr().out


@pytest.mark.parametrize("more", [0, 1])
def test_a_folder_with_another_number_of_plans(plan, more, capsys) -> None:
    plan.with_name("other.graph.json").write_bytes(plan.read_bytes())
    if not more:
        for one in plan.parent.glob("*.graph.json"):
            one.unlink()
    assert main(["explore", str(plan.parent)]) == 2
    shown = capsys.readouterr().err
    assert ("2 plans" if more else "no plans") in shown
    assert ("net, other" in shown) == bool(more)


def test_stored_runs_with_and_without_a_plan(store, capsys) -> None:
    store.save(measured_run())
    assert main(["explore", "latest"]) == 0
    assert "MatMul" in capsys.readouterr().out
    run = imported_run()
    store.save(run, tags=("mine",))
    for name in ("mine", run.id[:6], str(store.folder_of(run.id))):
        assert main(["explore", name]) == 0
        assert "Slowest layers" in capsys.readouterr().out
    store.save(a_run(plan=None, profile=None))
    assert main(["explore", "latest"]) == 2
    assert "neither a plan nor layer times" in capsys.readouterr().err


def test_json_and_csv_or_why_they_cannot_be_written(plan, tmp_path, capsys) -> None:
    target = tmp_path / "layers.csv"
    assert main(["explore", str(plan), "--json", "--csv", str(target), "--sort", "plan"]) == 0
    shown = capsys.readouterr()
    assert [one["index"] for one in json.loads(shown.out)["layers"]] == [0, 1, 2]
    assert f"written: {target}" in shown.err
    with target.open(newline="") as file:
        assert [row["index"] for row in csv.DictReader(file)] == ["0", "1", "2"]
    assert main(["explore", str(plan), "--csv", str(tmp_path / "no" / "layers.csv")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_an_optimisation_profile(plan, capsys) -> None:
    layers = [{"Name": one.name, "LayerType": "X"} for one in several().layers]
    plan.write_bytes(plans.encoded({"Layers": layers}))
    assert main(["explore", str(plan), "--plan-profile", "10"]) == 0
    assert "optimization profile 10 of 0, 1, 10" in capsys.readouterr().out
    assert main(["explore", str(plan), "--plan-profile", "2"]) == 2
    assert "it has: 0, 1, 10" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.json"], "absent.json does not exist"),
        (["absent"], "enginescope runs lists them"),
        (["engines", "--profile", "engines/net.profile.json"], "companion files need a plan file"),
        (["engines/net.profile.json"], "it holds layer times"),
        (["engines/net.graph.json", "--sort", "colour"], "colour"),
    ],
)
def test_what_cannot_be_looked_into(plan, tmp_path, arguments, message, capsys) -> None:
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08")
    assert main(["explore", *arguments]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_every_order_can_be_asked_for() -> None:
    from enginescope.analysis.plans.plan_view import ORDERS

    (sort,) = (field for field in declared(ExploreRequest) if field.name == "sort")
    assert set(sort.choices) == set(ORDERS)


def test_a_model_is_measured_and_its_executed_graph_shown_and_checked(tmp_path, convnet) -> None:
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
    (report,) = json.loads(called("lint", "--store", tmp_path, "latest", "--json").stdout)["plans"]
    assert "PLAN104" in report["rules"]
    assert "PLAN101" not in report["rules"]  # it speaks of NVIDIA's tensor cores


def test_a_layer_has_one_time_in_the_run_and_in_its_plan(tmp_path, convnet) -> None:
    found, again = (
        json.loads(called("explore", "--store", tmp_path, *subject, "--json").stdout)
        for subject in ((convnet, *QUICK), ("latest",))
    )
    times = [one["time_ms"] for one in found["layers"]]
    assert times == [one["time_ms"] for one in again["layers"]]
    listed = sum(ms or 0.0 for ms in times)
    assert found["time"]["sum_ms"] == pytest.approx(listed)
    assert RunView(Store(tmp_path).load("latest")).layer_sum.sum_ms == pytest.approx(listed)


def test_python_stores_only_where_a_store_is_named(tmp_path, convnet, monkeypatch) -> None:
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
def test_a_mistake_is_told_before_a_measurement(tmp_path, convnet, arguments, message) -> None:
    named = [str(convnet) if one == "MODEL" else one for one in arguments]
    ended = called("explore", "--store", tmp_path, *named)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not Store(tmp_path).rows()
