"""Nothing that is read is written over, and no two results go into one file."""

import shutil
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.cli.options import write_output
from enginescope.core.errors import BackendError, UsageError
from enginescope.formats.onnx.onnx_precision import external_files
from enginescope.services.output_files import check_outputs

NAME = "small_convnet.onnx.engine"


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Path:
    return Path(
        shutil.copy(data / "trt86-h200-process" / f"{NAME}.graph.json", tmp_path / "a.graph.json")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["explore", "{plan}", "--csv", "{plan}"],
        ["explore", "{plan}", "--svg", "{plan}"],
        ["explore", "{plan}", "--html", "{plan}"],
        ["lint", "{plan}", "--sarif", "{plan}"],
    ],
)
def test_a_plan_is_not_written_over(plan, capsys, arguments) -> None:
    before = plan.read_bytes()
    assert main([one.format(plan=plan) for one in arguments]) == 2
    assert "it is a file that is read" in capsys.readouterr().err
    assert plan.read_bytes() == before


def test_two_results_do_not_go_into_one_file(plan, tmp_path, capsys) -> None:
    both = str(tmp_path / "x")
    assert main(["explore", str(plan), "--csv", both, "--svg", both]) == 2
    assert "two results" in capsys.readouterr().err


def test_a_dash_is_no_file(plan, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explore", str(plan), "--svg", "-"]) == 2
    assert "standard output" in capsys.readouterr().err
    assert not (tmp_path / "-").exists()


def test_other_spellings_of_a_path_are_seen_through(tmp_path) -> None:
    file = tmp_path / "m.onnx"
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(UsageError, match="is read"):
        check_outputs([tmp_path / "." / "link"], [str(file)])
    check_outputs([None, tmp_path / "n.engine"], [file, None])


@pytest.mark.parametrize("ending", ["json", "textproto", "onnxtxt"])
def test_a_file_that_is_no_model_is_said_so_whatever_it_is_called(tmp_path, ending) -> None:
    path = tmp_path / f"m.{ending}"
    path.write_text('{"Layers": []}')
    with pytest.raises(BackendError, match="not an ONNX model"):
        external_files(str(path))


def test_a_report_where_none_can_be_written(data, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    assert main(["import", str(data / "trt86-h200-process" / f"{NAME}.profile.json")]) == 0
    (tmp_path / "file").write_text("")
    assert main(["report", "latest", "--output", str(tmp_path / "file" / "x")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_file_is_written_whole_and_said(tmp_path, capsys) -> None:
    made = tmp_path / "x.csv"
    made.write_bytes(b"before")
    write_output(made, b"after")
    assert made.read_bytes() == b"after"
    assert [one.name for one in tmp_path.iterdir()] == ["x.csv"]
    assert capsys.readouterr() == ("", f"written: {made}\n")


def test_a_file_that_cannot_be_written(tmp_path, capsys) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_output(tmp_path / "none" / "x.csv", b"x")
    assert capsys.readouterr().err == ""
