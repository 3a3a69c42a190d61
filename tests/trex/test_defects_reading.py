"""Files that trex refuses or misreads, and faults of its programs around the library."""

import ast
import gzip
import json
from pathlib import Path

import pytest

import enginescope
from enginescope.analysis.layers.layer_sum import of_plan_profile, plan_profiles
from enginescope.analysis.layers.layer_table import layer_rows, tactic_shares
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.cli.main import main
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.compat.trtexec.runs import settings
from tests.formats import plans
from tests.formats.test_trex_metadata import SEVEN
from tests.trex.made_plans import chain, explored, layer, plan_of

IO = ("x", "y")


@pytest.mark.parametrize("root", [{"Layers": []}, {"Layers": [], "Bindings": []}, []])
def test_no_layers(root) -> None:
    """``Layers: []`` ends trex with IndexError; here it is a plan of none."""
    plan, _ = parse_plan(json.dumps(root).encode(), "a.json")
    assert plan.layers == ()
    found = explored(plan)
    assert (found.layers, found.totals.layers if found.totals else None) == ((), 0)
    assert lint(LintInput(plan=plan)).findings == ()
    assert len(PlanView(plan).columns()["Name"]) == 0


@pytest.mark.parametrize("key", ["Format/Datatype", "Dimensions", "Location"])
def test_a_tensor_without_a_field(key) -> None:
    """``Format/Datatype`` or ``Dimensions`` missing is KeyError in trex."""
    bare = {name: value for name, value in plans.IMAGE.items() if name != key}
    plan = plan_of([layer("a", "kgen", [bare], [plans.PACKED])], "image", "packed")
    size = None if key != "Location" else 3 * 64 * 4 + 3 * 64 * 2
    view = PlanView(plan)
    assert view.sizes[0].activation_bytes == size
    assert view.totals.unknown_tensors == (size is None)
    assert view.columns()["Name"] == ["a"]


@pytest.mark.parametrize("number", [1, 9, 10, 123])
def test_profile_numbers_of_several_digits(number) -> None:
    """trex looks for one digit: ``[profile 10]`` and above leak into profile 0."""
    layers = chain(("a", "kgen", "x", "y"), (f"a [profile {number}]", "kgen", "p", "q"))
    plan = plan_of(layers, "x", "y")
    assert plan_profiles(plan) == (0, number)
    assert [one.name for one in of_plan_profile(plan, 0).layers] == ["a"]
    assert [one.name for one in of_plan_profile(plan, number).layers] == [layers[1]["Name"]]
    assert [one.row.name for one in explored(plan).layers] == ["a"]


def test_signals_and_waits_in_a_row() -> None:
    """trex removes from the list it goes through: every second one of a row stays."""
    pairs = [(f"{kind}_{at}", kind, "", "") for at in range(5) for kind in ("signal", "wait")]
    view = PlanView(plan_of(chain(("a", "kgen", "x", "t"), *pairs, ("b", "kgen", "t", "y")), *IO))
    assert [one.name for one in view.layers] == ["a", "b"]
    assert (view.totals.layers, view.totals.active_layers) == (12, 2)


def test_a_no_op_at_the_engines_input_or_between_both_ends() -> None:
    """A NoOp that reads an input of the engine is KeyError in trex."""
    view = PlanView(plan_of(chain(("squeeze", "NoOp", "x", "t"), ("a", "kgen", "t", "y")), *IO))
    assert [one.name for one in view.layers] == ["a"]
    assert view.totals.activation_bytes == 2 * 4 * 64 * 4
    # A plan of nothing else has no producer at all.
    found = explored(plan_of(chain(("squeeze", "NoOp", "x", "y")), *IO))
    assert (found.totals.active_layers, found.totals.activation_bytes) == (0, None)


def test_metadata_without_a_section_or_of_the_build_in_the_place_of_the_timings(tmp_path) -> None:
    """``device_properties`` and ``performance_summary`` are KeyError if the section is absent."""
    plan, metadata = tmp_path / "net.graph.json", tmp_path / "m.json"
    plan.write_bytes(plans.encoded(plans.tensorrt_8_4()))
    metadata.write_text(json.dumps({"build_options": {"Precision": "FP32+FP16"}}))
    report = read_plan_files(PlanFiles(plan=plan, metadata=metadata)).report
    assert report.options == {"Build Options": {"Precision": "FP32+FP16"}}
    assert (report.summaries, report.device) == ((), None)
    metadata.write_text(json.dumps({"performance_summary": {"Latency": SEVEN}}))
    report = read_plan_files(PlanFiles(plan=plan, metadata=metadata)).report
    assert (report.summaries[0].mean_ms, report.device) == (3.0, None)


def test_what_steers_the_cache_is_no_tensor() -> None:
    """TensorRT 10 lists ``l2_cache_*`` among inputs; nothing writes them and they hold no data."""
    half = {"Dimensions": [1, 64], "Format/Datatype": "Half"}
    steer = ["l2_cache_policy_inputs_0", "l2_cache_management_1"]
    names = (steer[0], "x", steer[1])
    one = layer("a", "kgen", [{"Name": it, **half} for it in names], [{"Name": "y", **half}])
    for bindings in (IO, ()):
        view = PlanView(plan_of([one], *bindings))
        assert [it.name for it in view.layers[0].inputs] == ["x"]
        assert view.layers[0].attributes["ControlInputs"] == steer
        assert [it.tensor.name for it in view.plan.inputs] == ["x"]
        totals = view.totals
        assert (totals.weights_bytes, totals.activation_bytes) == (None, 2 * 128)


def test_bindings_in_the_files_order_and_those_that_are_read_and_written() -> None:
    """trex puts bindings through a set: their order changes from call to call."""
    names = [f"in{at}" for at in range(8)]
    plan = plan_of(chain(("a", "kgen", " ".join(names), "y")), *names, "y")
    assert [one.tensor.name for one in plan.inputs] == names
    assert [one.tensor.name for one in plan.outputs] == ["y"]
    # An input that a layer writes in place is an input all the same; an output may be read.
    layers = chain(("a", "kgen", "x", "x"), ("b", "kgen", "x", "y"), ("c", "kgen", "y", "z"))
    plan = plan_of(layers, "x", "y", "z")
    assert [one.tensor.name for one in plan.inputs] == ["x"]
    assert [one.tensor.name for one in plan.outputs] == ["y", "z"]
    # Types that no list has are types like any other.
    assert explored(plan_of(chain(("a", "Mamba", "x", "y")))).layers[0].row.type == "Mamba"


def test_a_log_on_its_own(data, tmp_path, capsys) -> None:
    """parse_trtexec_log.py as a program is TypeError."""
    log = tmp_path / "net.engine.profile.log"
    packed = data / "trt86-h200-process" / "small_convnet.onnx.engine.profile.log.gz"
    log.write_bytes(gzip.decompress(packed.read_bytes()))
    assert main(["import", str(log), "--store", str(tmp_path / "store"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    (run,) = import_artifacts([log]).runs
    assert run.tool.summaries


@pytest.mark.parametrize("given", ["--device=1", "--device=01"])
def test_the_device_is_a_number(given) -> None:
    """``--dev 1`` stays a text, and NVML asks for a number."""
    assert int(settings(given).options["device"]) == 1


def test_modules_find_each_other_by_name_alone() -> None:
    """process_engine changes sys.path to find its parser; the program cannot find ``bin``."""
    for path in Path(enginescope.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "sys.path" in text:
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            uses = {ast.unparse(node.func) for node in calls}
            assert not [one for one in uses if one.startswith("sys.path.")], path


def test_looking_changes_nothing() -> None:
    """trex overwrites the plan's column of tactics, and renames the plan at each comparison."""
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_10()), "net")
    before = PlanView(plan).columns()
    tactic_shares(layer_rows(plan, None))
    align(plan, plan)
    assert PlanView(plan).columns() == before
    assert plan.name == "net"
