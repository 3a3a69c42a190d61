"""Parts of other packages behind each door: used where they fit, named where they fail."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import PluginError, UnsupportedError, UsageError
from enginescope.core.toml import parse_toml
from enginescope.probe.telemetry.sampler_sources import open_sampler
from enginescope.rules.catalogue import RULES, broken_rules, every_rule
from enginescope.services.measurement.doctor import doctor
from enginescope.store.archive import Store
from tests.analysis.in_turn import process
from tests.plants.packages import installed, write_package

EXAMPLES = Path(__file__).parents[1] / "examples" / "plugins"
LAYERS = [
    {"Name": name, "LayerType": "Convolution", "Inputs": [], "Outputs": []} for name in ("a", "b")
]
TIMES = [
    {"count": 10},
    *({"name": name, "timeMs": 10 * ms, "averageMs": ms} for name, ms in (("a", 3.0), ("b", 1.0))),
]
BROKEN = {
    "outside_reader": "def fits(file): return file.head[:2] == b'##'\n"
    "def read(file): return {}[file.name]\n",
    "outside_greedy": "def fits(file): raise RuntimeError('no license')\n",
    "outside_rules": "from enginescope.rules.base import Severity, rule\n"
    "@rule('OUT1', 'fails', 'It fails', severity=Severity.INFO, advice='none')\n"
    "def fails(view):\n    return 1 / 0\n"
    "@rule('PLAN101', 'twice', 'Its code is taken', severity=Severity.INFO, advice='none')\n"
    "def twice(view):\n    return ()\n",
}
POINTS = {
    "reader": {"aa-greedy": "outside_greedy", "hashes": "outside_reader", "lost": "no_such_module"},
    "rule": {"mine": "outside_rules", "empty": "json", "gone": "no_such_module"},
    "exporter": {"bad": "outside_reader:read", "nvbench": "outside_reader:read"},
    "sampler": {"bad": "outside_reader:read"},
}


@pytest.fixture
def examples(tmp_path: Path) -> Iterator[None]:
    """Install the examples, as far as Python is concerned."""
    project = parse_toml((EXAMPLES / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = {
        group.removeprefix("enginescope.").removesuffix("s"): table
        for group, table in project["entry-points"].items()
    }
    with (
        installed(write_package(tmp_path / "site", {}, points, "enginescope-examples")),
        installed(EXAMPLES),
    ):
        yield


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[None]:
    with installed(write_package(tmp_path / "site", BROKEN, POINTS)):
        yield


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "net.profile.json").write_text(json.dumps(TIMES))
    file = tmp_path / "net.graph.json"
    file.write_text(json.dumps({"Layers": LAYERS, "Bindings": []}))
    return file


def table(file: Path, *times: float) -> Path:
    rows = [f"{case},{ms}" for case in "ab" for ms in times]
    file.write_text("\n".join(("case,latency_ms", *rows)))
    return file


@pytest.mark.usefixtures("examples")
def test_a_reader_makes_runs_and_both_forms_of_compare_take_its_files(tmp_path, capsys) -> None:
    one, two = (table(tmp_path / f"{n}.csv", 1.0 * n, 1.5 * n, 1.25 * n) for n in (1, 2))
    views = es.import_artifacts(one)
    assert {view.run.job.subject.name for view in views} == {"a", "b"}
    assert [view.run.artifacts[0].kind for view in views] == ["stopwatch"] * 2
    assert list(views[0].run.headline.values_ms) == [1.0, 1.5, 1.25]
    assert main(["compare", str(one), str(two), "--json"]) in (0, 1)
    assert {row["name"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"a", "b"}


@pytest.mark.usefixtures("examples")
def test_a_packed_file_reaches_the_reader_unpacked(tmp_path) -> None:
    file = tmp_path / "times.csv.gz"
    file.write_bytes(gzip.compress(table(tmp_path / "times.csv", 1.0).read_bytes()))
    assert len(es.import_artifacts(file)) == 2


@pytest.mark.usefixtures("broken")
def test_a_file_that_a_reader_refuses_says_why_and_who(tmp_path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("## hello")
    with pytest.raises(UsageError, match="unexpected type or shape") as caught:
        es.import_artifacts(file)
    assert "hashes" in str(caught.value)


@pytest.mark.usefixtures("broken")
def test_broken_readers_are_named_where_nothing_else_reads_a_file(tmp_path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("hello")
    with pytest.raises(UsageError) as caught:
        es.import_artifacts(file)
    assert "reader aa-greedy of outside 1.5 failed: RuntimeError: no license" in str(caught.value)
    assert "reader lost of outside 1.5 failed: ModuleNotFoundError" in str(caught.value)
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": [{"command": "ls", "times": [1.0, 2.0]}]}))
    assert [view.run.tool.tool for view in es.import_artifacts(file)] == ["hyperfine"]


@pytest.mark.usefixtures("examples")
def test_a_rule_is_found_selected_and_explained(plan, capsys) -> None:
    assert every_rule()[-1].code == "EXAMPLE1"
    report = es.lint(plan, select=["dominant-layer"])
    assert [finding.message for finding in report.findings] == ["takes 75 % of the engine's time"]
    assert main(["explain", "EXAMPLE1"]) == 0
    assert "start with this layer" in capsys.readouterr().out.lower()


@pytest.mark.usefixtures("broken")
def test_rules_that_fail_are_findings_and_rules_that_cannot_be_used_are_said(plan, capsys) -> None:
    with pytest.warns(UserWarning, match="^rule ") as warned:
        report = es.lint(plan)
    assert "rule empty: its module has no rule" in {str(one.message) for one in warned}
    (failed,) = [finding for finding in report.findings if finding.code == "OUT1"]
    assert failed.severity.value == "error"
    assert "ZeroDivisionError: division by zero" in failed.message
    assert {rule.code for rule in every_rule()} == {"OUT1", *(rule.code for rule in RULES)}
    assert broken_rules().keys() == {"mine", "empty", "gone"}
    assert main(["lint", str(plan)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "rule mine: other rules have its codes or names: PLAN101" in said
    assert "rule empty: its module has no rule" in said
    with pytest.raises(UsageError, match=r"rule gone of outside 1\.5 failed"):
        es.lint(plan, select=["GONE1"])


@pytest.mark.usefixtures("examples")
def test_an_exporter_writes_what_the_reader_reads(tmp_path) -> None:
    store = Store(tmp_path / "store")
    run = process(2.0)
    store.save(run)
    (file,) = es.export_run("latest", tmp_path / "x.csv", format="stopwatch", store=store.path)
    (view,) = es.import_artifacts(file)
    assert list(view.run.headline.values_ms) == list(run.headline.values_ms)


@pytest.mark.usefixtures("broken")
def test_an_exporter_that_fails_is_named_and_hides_no_other(tmp_path) -> None:
    store = Store(tmp_path / "store")
    store.save(process(2.0))
    with pytest.raises(PluginError, match=r"exporter bad of outside 1\.5 failed: TypeError"):
        es.export_run("latest", tmp_path / "x", format="bad", store=store.path)
    assert es.export_run("latest", tmp_path / "x.json", format="nvbench", store=store.path)


@pytest.mark.usefixtures("examples")
def test_a_sampler_is_asked_after_the_built_in_ones(tmp_path, monkeypatch) -> None:
    from enginescope_examples import sampler

    monkeypatch.setattr(sampler, "CARDS", tmp_path)
    with pytest.raises(UnsupportedError, match="the driver amdgpu does not report it"):
        open_sampler("7")
    device = tmp_path / "card7" / "device"
    device.mkdir(parents=True)
    (device / "gpu_busy_percent").write_text("42\n")
    found = open_sampler("7")
    assert (found.gpu.source, found.sample(1)["gpu_utilization_pct"]) == ("amdgpu", 42.0)
    assert found.clock() == {"sm_clock_mhz": None, "temperature_c": None}


@pytest.mark.usefixtures("broken")
def test_a_sampler_that_fails_is_one_more_reason() -> None:
    with pytest.raises(UnsupportedError, match=r"sampler bad of outside 1\.5 failed"):
        open_sampler("7")


@pytest.mark.usefixtures("broken")
def test_doctor_names_every_plugin_with_what_is_wrong() -> None:
    found = {one.name: one for one in doctor().plugins}
    assert {name for name, one in found.items() if not one.usable} == {
        *("reader lost", "rule mine", "rule empty", "rule gone", "exporter nvbench")
    }
    assert found["exporter bad"].detail == "outside 1.5"
    assert "a built-in exporter has this name" in found["exporter nvbench"].detail
    assert found["reader lost"].hint == "update or uninstall outside"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.py")), ids=lambda file: file.stem)
def test_an_example_has_forty_lines(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), os.environ["PATH"])))
    monkeypatch.delenv("ENGINESCOPE_HOME", raising=False)
    for name in ("echo", "bench"):
        file = folder / f"enginescope-{name}"
        file.write_text('#!/bin/sh\necho "$ENGINESCOPE_HOME" "$@"\nexit 7\n')
        file.chmod(0o755)
    return folder


def test_a_program_on_the_path_is_a_verb(programs, capfd) -> None:
    command = [sys.executable, "-m", "enginescope", "echo", "--help", "--", "a b", "-x"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    home, *words = ended.stdout.split()
    assert (ended.returncode, words) == (7, ["--help", "--", "a", "b", "-x"])
    assert Path(home).name == "enginescope"


@pytest.mark.usefixtures("programs")
def test_help_lists_programs_below_all_verbs_and_built_in_verbs_win(capsys) -> None:
    assert main(["--help"]) == 0
    assert "On the PATH" not in capsys.readouterr().out
    assert main(["--help", "--all"]) == 0
    listed = capsys.readouterr().out.partition("On the PATH:")[2]
    assert "echo" in listed
    assert "enginescope-bench" not in listed
    assert main(["bench", "--help"]) == 0
    assert "Usage: enginescope bench" in capsys.readouterr().out
    assert main(["ehco"]) == 2
    assert "did you mean echo?" in capsys.readouterr().err


@pytest.mark.usefixtures("programs")
def test_a_program_that_cannot_start_is_an_error_of_its_name(programs, capsys) -> None:
    (programs / "enginescope-echo").write_text("no program")
    assert main(["echo"]) == 2
    assert f"cannot run {programs / 'enginescope-echo'}" in capsys.readouterr().err
