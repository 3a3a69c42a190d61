"""trex's programs around the library."""

import ast
import gzip
import json
from pathlib import Path

import pytest

import enginescope
from enginescope.analysis.layers.layer_table import layer_rows, tactic_shares
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.cli.main import main
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.plan.plan_json import parse_plan
from tests.compat.trtexec.runs import settings
from tests.formats import plans

PACKAGE = Path(enginescope.__file__).parent
NAME = "small_convnet.onnx.engine"


def test_a_log_on_its_own(data, tmp_path, capsys) -> None:
    """parse_trtexec_log.py as a program is TypeError."""
    log = tmp_path / "net.engine.profile.log"
    packed = data / "trt86-h200-process" / f"{NAME}.profile.log.gz"
    log.write_bytes(gzip.decompress(packed.read_bytes()))
    store = str(tmp_path / "store")
    assert main(["import", str(log), "--store", store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    (run,) = import_artifacts([log]).runs
    assert run.tool.summaries


@pytest.mark.parametrize("given", ["--device=1", "--device=01"])
def test_the_device_is_a_number(given) -> None:
    """``--dev 1`` stays a text, and NVML asks for a number."""
    assert int(settings(given).options["device"]) == 1


def test_modules_find_each_other_by_name_alone() -> None:
    """process_engine changes sys.path to find its parser; the program cannot find ``bin``."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        uses = {
            ast.unparse(node.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert not [one for one in uses if one.startswith("sys.path.")], path


def test_looking_changes_nothing() -> None:
    """trex overwrites the plan's column of tactics, and renames the plan at each comparison."""
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_10()), "net")
    before = PlanView(plan).columns()
    tactic_shares(layer_rows(plan, None))
    align(plan, plan)
    assert PlanView(plan).columns() == before
    assert plan.name == "net"
