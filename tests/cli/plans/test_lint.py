import json
import re
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.store.archive import Store
from tests.formats import plans
from tests.rules.made import timed
from tests.store.stored_runs import a_run

TIMES = [
    {"count": 10},
    {"name": "copy for conv", "timeMs": 5.0, "averageMs": 0.5, "medianMs": 0.5, "percentage": 50},
    {"name": "conv + relu", "timeMs": 5.0, "averageMs": 0.5, "medianMs": 0.5, "percentage": 50},
    {"name": "squeeze", "timeMs": 0.0, "averageMs": 0.0, "medianMs": 0.0, "percentage": 0},
]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan with its profile beside it; the working directory is elsewhere, and empty."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "net.profile.json").write_text(json.dumps(TIMES))
    file = folder / "net.graph.json"
    inner = {"Bindings": ["image", "later"]}  # the convolution is not a head
    file.write_bytes(plans.encoded(plans.tensorrt_8_4() | inner))
    return file


@pytest.fixture
def lint(plan: Path, capsys):
    """Run ``lint`` on the plan, or on what `of` names; give what it printed."""

    def run(*options: object, status: int = 1, of: object = plan):
        assert main(["lint", str(of), *map(str, options)]) == status
        return capsys.readouterr()

    return run


@pytest.fixture
def document(lint):
    """Run ``lint`` with ``--json``; give its report of one plan."""

    def run(*options: object, **how: object) -> dict:
        return json.loads(lint("--json", *options, **how).out)["plans"][0]

    return run


def test_a_plan_with_the_profile_beside_it(lint) -> None:
    shown = lint()
    lines = shown.out.splitlines()
    assert "net (3 layers, 2 launch work, sum 1.000 ms): findings 1 warning, 1 info" in lines[1:3]
    table = next(at for at, line in enumerate(lines) if line.startswith("code"))
    assert lines[table + 2].split()[:4] == ["PLAN104", "1", "0.5000", "50.0"]
    assert any(line.startswith("0.5000  50.0  PLAN104  info") for line in lines[table:])
    assert "PLAN102" in shown.out
    assert max(map(len, lines)) <= 80
    assert shown.err.startswith("  explain a rule: enginescope explain ")


def test_it_opens_with_one_cause_one_change_and_one_figure(plan, lint, capsys) -> None:
    first = lint("--level", "never", status=0).out.split("findings")[0]
    figure = r" → .*: at most [\d.]+ ms, [\d.]+ % \(PLAN\d+\)"
    assert re.search(figure, " ".join(first.split()))
    main(["explore", str(plan)])
    assert re.search(figure, " ".join(capsys.readouterr().out.split()))


def test_a_profile_by_name_or_none(plan, lint, tmp_path, document) -> None:
    plan.with_name("net.profile.json").unlink()
    shown = lint()
    assert "net (3 layers, 2 launch work): findings" in shown.out
    assert "add --profile" in shown.err
    other = tmp_path / "times.json"
    other.write_text(json.dumps(TIMES[:2]))
    (one,) = document("--profile", other, "--select", "profile-mismatch")["findings"]
    assert one["layers"] == [{"index": 1, "name": "conv + relu"}]


def test_the_level_decides_the_exit_code(lint) -> None:
    lint("--level", "error", status=0)
    lint("--level", "never", status=0)
    lint("--ignore", "PLAN102", status=0)
    lint("--ignore", "PLAN102", "--level", "info", status=1)


def test_select_and_ignore(document) -> None:
    chosen = ("--select", "PLAN104,TIME", "--select", "misaligned-channels")
    found = document(*chosen, "--ignore", "TIME203")
    assert found["rules"] == ["PLAN102", "PLAN104", "TIME202", "TIME204", "TIME205", "TIME206"]
    assert [one["code"] for one in found["findings"]] == ["PLAN104", "PLAN102"]


def test_nothing_found_and_more_than_are_shown(lint) -> None:
    nothing = lint("--select", "TIME202", status=0).out
    assert nothing == "net (3 layers, 2 launch work, sum 1.000 ms): findings none\n"
    assert "--all shows every finding\nand 1 more\n" in lint("--top", 1).out
    assert "more;" not in lint("--top", 1, "--all").out


def test_an_unknown_rule_and_what_is_no_plan(plan, lint) -> None:
    assert "did you mean PLAN1" in lint("--ignore", "PLAN140", status=2).err
    model = plan.with_name("net.onnx")
    model.write_bytes(b"\x08\x08")
    assert "is a model, not a plan" in lint(of=model, status=2).err


def test_configuration_of_the_working_directory_or_by_name(document, tmp_path) -> None:
    layers = '[lint.layers]\n"conv*" = ["PLAN102"]\n'
    Path("enginescope.toml").write_text(f'[lint]\nignore = ["TIME"]\nlevel = "error"\n{layers}')
    found = document(status=0)
    assert [one["code"] for one in found["findings"]] == ["PLAN104"]
    assert found["suppressed"] == 1
    assert not document("--level", "info", "--ignore", "PLAN104", status=0)["findings"]
    Path("enginescope.toml").write_text("[lint]\nselect = []\n")
    mine = tmp_path / "mine.toml"
    mine.write_text('[lint]\nselect = ["PLAN104"]\n[suite]\nx = 1\n')
    assert document("--config", mine, status=0)["rules"] == ["PLAN104"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"lint = [", "enginescope.toml"),
        (b"\xff\xfe", "enginescope.toml"),
        (b"lint = 3", "no table"),
        (b"[lint]\nlevels = 1", "did you mean level"),
    ],
)
def test_a_configuration_that_cannot_be_used(lint, text, says) -> None:
    Path("enginescope.toml").write_bytes(text)
    assert says in lint(status=2).err


def test_a_configuration_that_cannot_be_read(lint, monkeypatch) -> None:
    Path("enginescope.toml").write_text("")

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert "Permission denied" in lint(status=2).err


def test_sarif(lint, tmp_path) -> None:
    file = tmp_path / "found.sarif"
    assert "PLAN104" in lint("--sarif", file).out
    (run,) = json.loads(file.read_bytes())["runs"]
    assert {one["ruleId"] for one in run["results"]} == {"PLAN102", "PLAN104"}
    assert "cannot write" in lint("--sarif", tmp_path / "no/such/folder", status=2).err


def test_a_folder_of_engines(plan, lint) -> None:
    (plan.parent / "other.graph.json").write_bytes(plans.encoded(plans.tensorrt_10()))
    shown = lint(of=plan.parent).out
    assert "net (3 layers, 2 launch work, sum" in shown
    assert "other (5 layers, 3 launch work)" in shown
    (plan.parent / "net.graph.json").unlink()
    (plan.parent / "other.graph.json").unlink()
    assert "holds no plan" in lint(of=plan.parent, status=2).err


def test_a_stored_run(plan, document) -> None:
    made, _ = parse_plan(plan.read_bytes(), "net")
    store = Store()
    run = a_run(id="abc123", plan=made, profile=timed(made, 0.5, 0.25, 0.0))
    job = replace(run.job, backend=replace(run.job.backend, options={"profile_index": "1"}))
    store.save(replace(run, job=job))
    chosen = ("--select", "PLAN104")
    found = document(*chosen, of="abc123", status=0)
    assert (found["source"], found["findings"][0]["saving"]["bound_ms"]) == ("abc123", 0.5)
    folder = store.runs_folder / "abc123"
    for name in (folder, folder / "run.json"):
        assert document(*chosen, of=name, status=0)["source"] == "abc123"


def test_a_run_has_a_plan_and_a_profile_goes_with_one_plan_file(plan, lint) -> None:
    Store().save(a_run(id="abc123"))
    assert "run abc123 has no plan" in lint(of="abc123", status=2).err
    lint(of="nothing-like-it", status=2)
    times = ("--profile", plan.with_name("net.profile.json"))
    assert "several plans" in lint(plan, *times, status=2).err
    assert "not a plan file" in lint(*times, of=plan.parent, status=2).err


def test_the_gpu_by_name(lint, document) -> None:
    found = document("--gpu", "h200", "--select", "TIME204")["findings"]
    assert {one["evidence"]["gpu"] for one in found} == {"H200"}
    assert "did you mean H20" in lint("--gpu", "H2000", status=2).err


def test_notices_go_to_standard_error_in_lines_of_its_width(plan, lint, monkeypatch) -> None:
    names = plan.with_name("names.json")
    names.write_bytes(plans.encoded(plans.names_only()))
    shown = lint(of=names, status=0)
    assert "I-NAMES-ONLY" in shown.err
    assert "findings none" in shown.out
    monkeypatch.setenv("COLUMNS", "60")
    plan.with_name("net.profile.json").write_text("[{")
    lines = [one for one in lint().err.splitlines() if "enginescope" not in one]
    assert "(W-DAMAGED-FILE)" in " ".join(lines)
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60


def test_it_says_whether_the_gpu_s_peaks_were_used(lint) -> None:
    assert "--gpu NAME subtracts the least time that the GPU needs" in " ".join(lint().out.split())
    assert "Limits of H200" in " ".join(lint("--gpu", "H200").out.split())
