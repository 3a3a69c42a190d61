"""trex's programs around the library."""

import ast
import gzip
import json
from pathlib import Path

import pytest

import enginescope
from enginescope.backends.tensorrt.libraries import version_numbers
from enginescope.cli.main import main
from enginescope.compat.trtexec.arguments import parse_version
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from tests.compat.trtexec.runs import settings
from tests.formats import plans

PACKAGE = Path(enginescope.__file__).parent
NAME = "small_convnet.onnx.engine"


@pytest.mark.parametrize(
    ("older", "newer"), [("8.6.1", "10.0.0"), ("9.3.0", "10.16.1"), ("10.2.0", "10.16.1")]
)
def test_versions_are_numbers(older: str, newer: str) -> None:
    """As texts ``"8.6.1" < "10.0"`` is False, so trex's branch for older versions is dead."""
    a, b = parse_version(older), parse_version(newer)
    assert b.at_least(a.major, a.minor, a.patch)
    assert not a.at_least(b.major, b.minor, b.patch)
    assert version_numbers(older) < version_numbers(newer)
    assert not older < newer  # what trex asks


def test_a_picture_of_a_plan_alone(tmp_path, capsys) -> None:
    """Drawing without building and profiling is UnboundLocalError in process_engine."""
    path = tmp_path / "net.graph.json"
    path.write_bytes(plans.encoded(plans.tensorrt_8_4()))
    assert main(["explore", str(path), "--svg", str(tmp_path / "net.svg")]) == 0
    assert (tmp_path / "net.svg").read_text().startswith("<svg")


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


def test_values_with_colons_are_whole(data) -> None:
    """trex cuts at the second colon: ``Memory Pools`` is ``workspace`` to it."""
    packed = data / "trt86-h200-process" / f"{NAME}.build.log.gz"
    log, _ = parse_trtexec_log(gzip.decompress(packed.read_bytes()), "build.log")
    pools = log.report.options["Build Options"]["Memory Pools"]
    assert pools.startswith("workspace: ")
    assert pools != "workspace"
    assert log.report.tool_version == "8.6.0"  # trex keeps no version


def test_statistics_are_named() -> None:
    """trex keeps lists; that index 4 is p99 up to 8.4 and p90 since is left to the reader."""
    from tests.formats.trex.test_trex_metadata import SEVEN, read

    new = read({"performance_summary": {"Latency": SEVEN}})[0].summaries[0]
    old = read({"performance_summary": {"Latency": SEVEN[:5]}})[0].summaries[0]
    assert dict(new.percentiles)[99.0] == SEVEN[6]
    assert dict(old.percentiles)[99.0] == SEVEN[4]


@pytest.mark.parametrize("given", ["--device=1", "--device=01"])
def test_the_device_is_a_number(given: str) -> None:
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
    from enginescope.analysis.layers.layer_table import layer_rows, tactic_shares
    from enginescope.analysis.plan_comparison.alignment import align
    from enginescope.analysis.plans.plan_view import PlanView
    from enginescope.formats.plan.plan_json import parse_plan

    plan, _ = parse_plan(plans.encoded(plans.tensorrt_10()), "net")
    before = PlanView(plan).columns()
    tactic_shares(layer_rows(plan, None))
    align(plan, plan)
    assert PlanView(plan).columns() == before
    assert plan.name == "net"
