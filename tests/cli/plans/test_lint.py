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


def words(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.split()


def document(capfdbinary: pytest.CaptureFixture[bytes]) -> dict:
    return json.loads(capfdbinary.readouterr().out)["plans"][0]


def test_a_plan_with_the_profile_beside_it(plan, capsys) -> None:
    assert main(["lint", str(plan)]) == 1
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    told = "net (3 layers, 2 launch work, sum 1.000 ms): findings 1 warning, 1 info"
    assert told in lines[1:3]
    table = next(at for at, line in enumerate(lines) if line.startswith("code"))
    assert lines[table + 2].split()[:4] == ["PLAN104", "1", "0.5000", "50.0"]
    assert any(line.startswith("0.5000  50.0  PLAN104  info") for line in lines[table:])
    assert "PLAN102" in shown.out
    assert max(map(len, lines)) <= 80
    assert shown.err.startswith("  explain a rule: enginescope explain ")


def test_it_opens_with_one_cause_one_change_and_one_figure(plan, capsys) -> None:
    main(["lint", str(plan), "--level", "never"])
    first = capsys.readouterr().out.split("findings")[0]
    figure = r" → .*: at most [\d.]+ ms, [\d.]+ % \(PLAN\d+\)"
    assert re.search(figure, " ".join(first.split()))
    main(["explore", str(plan)])
    assert re.search(figure, " ".join(capsys.readouterr().out.split()))


def test_without_a_profile_it_says_so(plan, capsys) -> None:
    plan.with_name("net.profile.json").unlink()
    assert main(["lint", str(plan)]) == 1
    shown = capsys.readouterr()
    assert "net (3 layers, 2 launch work): findings" in shown.out
    assert "add --profile" in shown.err


def test_a_profile_by_name(plan, tmp_path, capfdbinary) -> None:
    other = tmp_path / "times.json"
    other.write_text(json.dumps(TIMES[:2]))
    main(["lint", str(plan), "--profile", str(other), "--json", "--select", "profile-mismatch"])
    (one,) = document(capfdbinary)["findings"]
    assert one["layers"] == [{"index": 1, "name": "conv + relu"}]


def test_the_level_decides_the_exit_code(plan) -> None:
    assert main(["lint", str(plan), "--level", "error"]) == 0
    assert main(["lint", str(plan), "--level", "never"]) == 0
    assert main(["lint", str(plan), "--ignore", "PLAN102"]) == 0
    assert main(["lint", str(plan), "--ignore", "PLAN102", "--level", "info"]) == 1


def test_select_and_ignore(plan, capfdbinary) -> None:
    arguments = [
        "--select",
        "PLAN104,TIME",
        "--ignore",
        "TIME203",
        "--select",
        "misaligned-channels",
    ]
    main(["lint", str(plan), "--json", *arguments])
    found = document(capfdbinary)
    assert found["rules"] == [
        "PLAN102",
        "PLAN104",
        "TIME202",
        *(f"TIME20{at}" for at in range(4, 7)),
    ]
    assert [one["code"] for one in found["findings"]] == ["PLAN104", "PLAN102"]


def test_nothing_found_and_more_than_are_shown(plan, capsys) -> None:
    assert main(["lint", str(plan), "--select", "TIME202"]) == 0
    assert capsys.readouterr().out == "net (3 layers, 2 launch work, sum 1.000 ms): findings none\n"
    main(["lint", str(plan), "--top", "1"])
    assert "--all shows every finding\nand 1 more\n" in capsys.readouterr().out
    main(["lint", str(plan), "--top", "1", "--all"])
    assert "more;" not in capsys.readouterr().out


def test_an_unknown_rule_and_what_is_no_plan(plan, capsys) -> None:
    assert main(["lint", str(plan), "--ignore", "PLAN140"]) == 2
    assert "did you mean PLAN1" in capsys.readouterr().err
    model = plan.with_name("net.onnx")
    model.write_bytes(b"\x08\x08")
    assert main(["lint", str(model)]) == 2
    assert "is a model, not a plan" in capsys.readouterr().err


def test_configuration_of_the_working_directory_or_by_name(plan, capfdbinary, tmp_path) -> None:
    Path("enginescope.toml").write_text(
        '[lint]\nignore = ["TIME"]\nlevel = "error"\n[lint.layers]\n"conv*" = ["PLAN102"]\n'
    )
    assert main(["lint", str(plan), "--json"]) == 0
    found = document(capfdbinary)
    assert [one["code"] for one in found["findings"]] == ["PLAN104"]
    assert found["suppressed"] == 1
    assert main(["lint", str(plan), "--level", "info", "--ignore", "PLAN104"]) == 0
    capfdbinary.readouterr()
    Path("enginescope.toml").write_text("[lint]\nselect = []\n")
    mine = tmp_path / "mine.toml"
    mine.write_text('[lint]\nselect = ["PLAN104"]\n[suite]\nx = 1\n')
    main(["lint", str(plan), "--config", str(mine), "--json"])
    assert document(capfdbinary)["rules"] == ["PLAN104"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"lint = [", "enginescope.toml"),
        (b"\xff\xfe", "enginescope.toml"),
        (b"lint = 3", "no table"),
        (b"[lint]\nlevels = 1", "did you mean level"),
    ],
)
def test_a_configuration_that_cannot_be_used(plan, capsys, text, says) -> None:
    Path("enginescope.toml").write_bytes(text)
    assert main(["lint", str(plan)]) == 2
    assert says in capsys.readouterr().err


def test_a_configuration_that_cannot_be_read(plan, capsys, monkeypatch) -> None:
    Path("enginescope.toml").write_text("")

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert main(["lint", str(plan)]) == 2
    assert "Permission denied" in capsys.readouterr().err


def test_sarif(plan, tmp_path, capsys) -> None:
    file = tmp_path / "found.sarif"
    assert main(["lint", str(plan), "--sarif", str(file)]) == 1
    (run,) = json.loads(file.read_bytes())["runs"]
    assert {one["ruleId"] for one in run["results"]} == {"PLAN102", "PLAN104"}
    assert "PLAN104" in capsys.readouterr().out
    assert main(["lint", str(plan), "--sarif", str(tmp_path / "no/such/folder")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_folder_of_engines(plan, tmp_path, capsys) -> None:
    (plan.parent / "other.graph.json").write_bytes(plans.encoded(plans.tensorrt_10()))
    assert main(["lint", str(plan.parent)]) == 1
    shown = capsys.readouterr().out
    assert "net (3 layers, 2 launch work, sum" in shown
    assert "other (5 layers, 3 launch work)" in shown
    (plan.parent / "net.graph.json").unlink()
    (plan.parent / "other.graph.json").unlink()
    assert main(["lint", str(plan.parent)]) == 2
    assert "holds no plan" in capsys.readouterr().err


def test_a_stored_run(plan, tmp_path, capfdbinary) -> None:
    made, _ = parse_plan(plan.read_bytes(), "net")
    store = Store()
    run = a_run(id="abc123", plan=made, profile=timed(made, 0.5, 0.25, 0.0))
    job = replace(run.job, backend=replace(run.job.backend, options={"profile_index": "1"}))
    store.save(replace(run, job=job))
    assert main(["lint", "abc123", "--json", "--select", "PLAN104"]) == 0
    found = document(capfdbinary)
    assert (found["source"], found["findings"][0]["saving"]["bound_ms"]) == ("abc123", 0.5)
    folder = store.runs_folder / "abc123"
    for name in (folder, folder / "run.json"):
        assert main(["lint", str(name), "--json", "--select", "PLAN104"]) == 0
        assert document(capfdbinary)["source"] == "abc123"


def test_a_run_without_a_plan(plan, capsys) -> None:
    Store().save(a_run(id="abc123"))
    assert main(["lint", "abc123"]) == 2
    assert "run abc123 has no plan" in capsys.readouterr().err
    assert main(["lint", "nothing-like-it"]) == 2


def test_a_profile_goes_with_one_plan_file(plan, capsys) -> None:
    beside = str(plan.with_name("net.profile.json"))
    assert main(["lint", str(plan), str(plan), "--profile", beside]) == 2
    assert "several plans" in capsys.readouterr().err
    assert main(["lint", str(plan.parent), "--profile", beside]) == 2
    assert "not a plan file" in capsys.readouterr().err


def test_the_gpu_by_name(plan, capfdbinary) -> None:
    main(["lint", str(plan), "--gpu", "h200", "--json", "--select", "TIME204"])
    assert {one["evidence"]["gpu"] for one in document(capfdbinary)["findings"]} == {"H200"}
    assert main(["lint", str(plan), "--gpu", "H2000"]) == 2
    assert b"did you mean H20" in capfdbinary.readouterr().err


def test_notices_of_reading_go_to_standard_error(plan, capsys) -> None:
    names = plan.with_name("names.json")
    names.write_bytes(plans.encoded(plans.names_only()))
    assert main(["lint", str(names)]) == 0
    shown = capsys.readouterr()
    assert "I-NAMES-ONLY" in shown.err
    assert "findings none" in shown.out


def test_notices_are_in_lines_of_the_terminal_s_width(plan, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    plan.with_name("net.profile.json").write_text("[{")
    main(["lint", str(plan)])
    lines = [one for one in capsys.readouterr().err.splitlines() if "enginescope" not in one]
    assert "(W-DAMAGED-FILE)" in " ".join(lines)
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60


def test_it_says_whether_the_gpu_s_peaks_were_used(plan, capsys) -> None:
    main(["lint", str(plan)])
    assert "--gpu NAME subtracts the least time that the GPU needs" in " ".join(words(capsys))
    main(["lint", str(plan), "--gpu", "H200"])
    assert "Limits of H200" in " ".join(words(capsys))
