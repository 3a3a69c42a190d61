"""Files that ``explore`` writes for other programs, and what ``--json`` adds when asked."""

import json
import sys
from pathlib import Path

import onnx
import pytest

import enginescope as es
from enginescope.cli.main import main
from tests.formats import plans
from tests.render.workbooks import sheets, values

pytestmark = pytest.mark.usefixtures("store")


def book_of(file: str) -> dict[str, list]:
    return {title: values(cells) for title, cells in sheets(Path(file).read_bytes()).items()}


def test_a_workbook_says_what_the_screen_says(explore) -> None:
    pytest.importorskip("xlsxwriter")
    told = json.loads(explore("--xlsx", "net.xlsx", "--json", "--sort", "plan").out)
    book = book_of("net.xlsx")
    assert list(book) == [
        *("Summary", "Layers", "By type", "By precision", "Tactics", "Reformats"),
        *("Reformats by origin", "Reformats by conversion", "Findings", "Limits"),
    ]
    summary = {row[0]: row[1:] for row in book["Summary"]}
    assert f"Layers {told['time']['sum_ms']:.4f}" in summary["time"][0]
    assert summary["memory"][0].startswith("weights ")
    assert summary["GPU"] == ["NVIDIA H200"]
    headers, *layers = book["Layers"]
    column = headers.index("time, ms")
    assert [row[headers.index("name")] for row in layers] == [one["name"] for one in told["layers"]]
    times = [row[column] if len(row) > column else None for row in layers]
    assert times == [one["time_ms"] and pytest.approx(one["time_ms"]) for one in told["layers"]]
    for title, key in (
        ("By type", "by_type"),
        ("By precision", "by_precision"),
        ("Reformats by origin", "reformats_by_origin"),
        ("Reformats by conversion", "reformats_by_conversion"),
    ):
        begun = zip((row[0] for row in book[title][1:]), told[key], strict=True)
        assert all(text.startswith(one["key"] or "not known") for text, one in begun)
        figures = [[one["time_ms"], one["share_pct"], one["layers"]] for one in told[key]]
        assert [row[1:] for row in book[title][1:]] == [pytest.approx(one) for one in figures]
    assert len(book["Tactics"]) == 1 + len(told["tactics"])
    assert len(book["Reformats"]) == 1 + len(told["reformats"])
    code = book["Findings"][0].index("Code")
    assert {row[code] for row in book["Findings"][1:]} >= {"PLAN104"}


def test_a_workbook_has_what_was_asked_for_beside_the_plan(plan, explore, convnet, capsys) -> None:
    pytest.importorskip("xlsxwriter")
    asked = ("--gpu", "H200", "--onnx", convnet, "--xlsx", "net.xlsx", "--json")
    told = json.loads(explore(*asked).out)
    book = book_of("net.xlsx")
    assert [(row[0], row[4] if len(row) > 4 else None) for row in book["Limits"][1:]] == [
        (one["name"], one["excess_ms"] and pytest.approx(one["excess_ms"]))
        for one in told["roofline"]["layers"]
    ]
    nodes = [row[0] for row in book["ONNX nodes"][1:]]
    assert nodes == [one["name"] for one in told["onnx"]["nodes"]]
    assert main(["lint", plan, "--gpu", "H200", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["plans"][0]["findings"]
    code = book["Findings"][0].index("Code")
    assert [row[code] for row in book["Findings"][1:]] == [one["code"] for one in found]


def test_a_workbook_of_a_bare_plan_names_what_was_given(plan, log, tmp_path, capsys) -> None:
    pytest.importorskip("xlsxwriter")
    bare = tmp_path / "net.graph.json"
    bare.write_bytes(Path(plan).read_bytes())
    asked = ("--gpu", "H200", "--build-log", str(log), "--xlsx", "net.xlsx")
    assert main(["explore", str(bare), *asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tensorrt_version"] == "8.6.0"
    assert main(["explore", str(bare), *asked]) == 0
    assert "H200, as given · TensorRT 8.6.0" in capsys.readouterr().out.splitlines()[0]
    summary = {row[0]: row[1:] for row in book_of("net.xlsx")["Summary"]}
    assert (summary["GPU"], summary["TensorRT"]) == (["H200, as given"], ["8.6.0"])
    assert main(["explore", str(bare), "--xlsx", "bare.xlsx"]) == 0
    assert not {"GPU", "TensorRT"} & {row[0] for row in book_of("bare.xlsx")["Summary"]}


def test_a_workbook_of_times_without_a_plan(plan) -> None:
    pytest.importorskip("xlsxwriter")
    assert main(["import", plan.replace(".graph.", ".profile.")]) == 0
    assert main(["explore", "latest", "--xlsx", "t.xlsx"]) == 0
    book = book_of("t.xlsx")
    assert "Findings" not in book
    assert len(book["Layers"]) > 10


def test_without_the_package_the_extra_is_named(explore, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    shown = explore("--xlsx", "net.xlsx", status=2)
    assert "pip install 'enginescope[xlsx]'" in shown.err
    assert shown.out == ""
    assert not Path("net.xlsx").exists()


def test_times_of_nodes_for_netron_and_model_explorer(explore, convnet) -> None:
    assert "written: timed.onnx" in explore("--onnx", convnet, "--netron", "timed.onnx").err
    made = onnx.load("timed.onnx")
    notes = {
        node.name: {one.key: one.value for one in node.metadata_props} for node in made.graph.node
    }
    whole = sum(float(one.get("enginescope.time_ms", 0)) for one in notes.values())
    assert whole == pytest.approx(0.0765, abs=0.0005)  # without both reformats
    assert notes["head/pool"]["enginescope.layers"] == "head/pool"
    original = onnx.load(str(convnet))
    assert [one.op_type for one in made.graph.node] == [one.op_type for one in original.graph.node]
    explore("--onnx", convnet, "--model-explorer", "times.json")
    (made,) = json.loads(Path("times.json").read_bytes()).values()
    assert made["results"]["head/pool"]["value"] > 0


def test_a_plan_for_netron_and_model_explorer_without_its_model(bare) -> None:
    assert main(["explore", str(bare), "--netron", "plan.onnx"]) == 0
    made = onnx.load("plan.onnx")
    context = onnx.checker.C.CheckerContext()  # it knows no schema of ours
    context.ir_version = made.ir_version
    context.opset_imports = {one.domain: one.version for one in made.opset_import}
    onnx.checker.check_graph(made.graph, context)
    view = es.open_plan(bare)
    of_layers = {node.name: node for node in made.graph.node}
    assert of_layers.keys() >= {layer.name for layer in view.layers}
    slowest = max(view.layers, key=lambda layer: view.time_of(layer).time_ms)
    said = {one.name: one.s.decode() for one in of_layers[slowest.name].attribute}
    assert float(said["time_ms"]) == pytest.approx(view.time_of(slowest).time_ms, rel=1e-5)
    assert [one.name for one in made.graph.input] == [one.tensor.name for one in view.plan.inputs]
    written = [name for node in made.graph.node for name in node.output]
    assert len(written) == len(set(written))
    assert main(["explore", str(bare), "--model-explorer", "net.json"]) == 0
    (graph,) = json.loads(Path("net.json").read_bytes())["graphs"]
    nodes = {one["id"]: one for one in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"])
    edges = [edge for one in nodes.values() for edge in one.get("incomingEdges", ())]
    assert {edge["sourceNodeId"] for edge in edges} <= nodes.keys()
    (times,) = json.loads(Path("net.times.json").read_bytes()).values()
    assert times["results"].keys() <= nodes.keys()
    whole_ms = sum(one["value"] for one in times["results"].values())
    assert whole_ms == pytest.approx(view.total_ms, rel=1e-4)


def test_traces_for_perfetto_need_times(bare, tmp_path, capsys) -> None:
    assert main(["explore", str(bare), "--perfetto", "trace.json"]) == 0
    events = json.loads(Path("trace.json").read_bytes())["traceEvents"]
    whole_ms = sum(one["dur"] for one in events if one["ph"] == "X") / 1e3
    assert whole_ms == pytest.approx(es.open_plan(bare).total_ms, rel=1e-3)
    (tmp_path / "c.graph.json").write_text(
        '{"Layers": [{"Name": "c", "LayerType": "Convolution"}]}'
    )
    assert main(["explore", "c.graph.json", "--perfetto", "none.json"]) == 2
    assert "neither layer times nor requests" in capsys.readouterr().err
    assert not Path("none.json").exists()


def test_nodes_without_times_are_nothing_for_model_explorer(convnet, plan, capsys) -> None:
    Path("alone.graph.json").write_bytes(Path(plan).read_bytes())
    arguments = ["explore", "alone.graph.json", "--onnx", str(convnet)]
    assert main([*arguments, "--model-explorer", "out"]) == 2
    assert "no node has a time" in capsys.readouterr().err
    assert main([*arguments, "--netron", "out.onnx"]) == 0  # layers are worth showing too


def test_files_that_cannot_be_or_are_not_to_be_written(explore, convnet) -> None:
    pytest.importorskip("xlsxwriter")
    for option in ("--csv", "--xlsx", "--netron", "--svg", "--html"):
        said = explore("--onnx", convnet, option, "no/such/folder", status=2).err
        assert "cannot write no/such/folder" in said, option
    before = convnet.read_bytes()
    assert "a file that is read" in explore("--onnx", convnet, "--netron", convnet, status=2).err
    assert convnet.read_bytes() == before


def test_another_model_is_said_loudly_and_has_nothing_to_write(explore, transformer) -> None:
    for option in ("--netron", "--model-explorer"):
        assert "no layer of" in explore("--onnx", transformer, option, "out", status=2).err
        assert not Path("out").exists()
    shown = " ".join(explore("--onnx", transformer).out.split())
    assert "! 0 of 19 layers of small_convnet.onnx.engine were made from nodes of" in shown
    assert "W-ONNX-NO-MATCH" in shown
    assert "ONNX nodes that cost most" not in shown
    shown = explore("--json", "--onnx", transformer)
    assert "0 of 19 layers of small_convnet.onnx.engine were made from nodes of" in shown.err
    assert "W-ONNX-NO-MATCH" in shown.err
    found = json.loads(shown.out)
    assert "W-ONNX-NO-MATCH" in [one["code"] for one in found["notices"]]
    assert found["onnx"]["nodes"] == []


def test_json_has_what_was_asked_for_and_nothing_else(explore, convnet, log) -> None:
    asked = ("--gpu", "H200", "--onnx", convnet, "--build-log", log)
    found = json.loads(explore("--json", *asked).out)
    roof, nodes, build = found["roofline"], found["onnx"], found["build"]
    assert roof["gpu"]["name"] == "H200"
    excess = [one["excess_ms"] for one in roof["layers"]]
    assert excess == sorted(excess, reverse=True)
    assert roof["saving_ms"] == pytest.approx(sum(excess[:10]))
    by_name = {one["name"]: one for one in nodes["nodes"]}
    assert [one["name"] for one in by_name["head/pool"]["layers"]] == ["head/pool"]
    assert sum(one["time_ms"] for one in nodes["nodes"]) == pytest.approx(0.0765, abs=0.0005)
    left = [one["name"] for one in nodes["unmatched_layers"]]
    assert left == [one["name"] for one in found["reformats"]]
    assert build["tuning_total_s"] > 0
    assert {one["layer"] for one in build["choices"]} >= {"scores"}
    assert build["steps"]
    assert not {"roofline", "onnx", "build"} & json.loads(explore("--json").out).keys()


def test_exports_are_of_the_optimisation_profile(capsys) -> None:
    layers = [{"Name": name, "LayerType": "X"} for name in ("a", "b", "a [profile 1]")]
    Path("net.json").write_bytes(plans.encoded({"Layers": layers}))
    assert main(["explore", "net.json", "--plan-profile", "1", "--gpu", "H200", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["layers"]] == ["a [profile 1]"]
    assert [one["name"] for one in found["roofline"]["layers"]] == ["a [profile 1]"]
