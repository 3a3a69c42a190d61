import csv
import gzip
import json
from pathlib import Path

import pytest

from enginescope.cli.main import main
from tests.analysis.compared_plans import run_a, run_b
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES
from tests.render.runs import measured_run


@pytest.fixture
def stored(store) -> list[str]:
    """Ids of two runs with plans."""
    runs = [run_a(), run_b()]
    for run in runs:
        store.save(run)
    return [run.id for run in runs]


@pytest.fixture
def files(store, tmp_path) -> list[str]:
    """Two plan files, the second in other formats and slower."""
    sides = {"before": (plans.tensorrt_8_4(), 1.0), "after": (plans.tensorrt_8_6(), 2.0)}
    for name, (raw, factor) in sides.items():
        folder = tmp_path / name
        folder.mkdir()
        data = raw if isinstance(raw, bytes) else plans.encoded(raw)
        (folder / "net.graph.json").write_bytes(data)
        times = [
            row | {key: row[key] * factor for key in ("timeMs", "averageMs") if key in row}
            for row in TIMES
        ]
        (folder / "net.profile.json").write_text(json.dumps(times))
    return [str(tmp_path / name / "net.graph.json") for name in sides]


def shown(arguments: list[str], capsys, status: int = 0) -> str:
    assert main(["compare", *arguments]) == status
    return " ".join(capsys.readouterr().out.split())


def test_runs_are_sides_on_the_screen_and_as_json(stored, capsys) -> None:
    text = shown([one[:8] for one in stored], capsys)
    assert text.startswith("The layers of B take 28.7 % less time in the profiles")
    assert "4.188 ms against 5.875 ms. A net a B net b" in text
    assert "Convolution: FP32 → FP16" in text
    assert main(["compare", "--json", *stored]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["difference"]["difference_ms"] == -1.6875
    assert made["plans"][0]["run"] == stored[0]
    assert "within 30 %" in shown(["--threshold", "30", *stored], capsys)


def test_a_side_that_is_given_twice_is_told_at_once(files, capsys) -> None:
    first, second = files
    again = Path(first).parent / ".." / "before" / Path(first).name
    assert main(["compare", first, str(again)]) == 0
    assert capsys.readouterr().err.startswith(f"A and B are the same: {first}; name two different")
    assert main(["compare", first, second]) == 0
    assert "are the same" not in capsys.readouterr().err


def test_files_folders_and_runs_are_sides(files, stored, capsys) -> None:
    text = shown(files, capsys)
    assert text.startswith("The layers of B take 100 % more time")
    assert ". A net (before/net.graph.json) B net (after/net.graph.json)" in text
    folders = [str(Path(one).parent) for one in files]
    assert ". A net (before) B net (after)" in shown(folders, capsys)
    assert "B net b" in shown([folders[0], stored[1]], capsys)
    text = shown([*stored, files[0]], capsys)
    assert "C net" in text
    assert "What explains" not in text
    assert main(["compare", *files, "--html", files[0]]) == 2
    assert "it is a file that is read" in capsys.readouterr().err


def test_csv_and_page(stored, tmp_path, capsys) -> None:
    table, page = tmp_path / "pairs.csv", tmp_path / "page.html"
    arguments = ["compare", *stored, "--csv", str(table), "--html", str(page), "--only", "tactic"]
    assert main(arguments) == 0
    assert f"written: {page}" in capsys.readouterr().err
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [one["a_name"] for one in rows] == ["conv1/x", "conv2/x + pool/x", "head/x"]
    assert b"The layers of B take 28.7 % less time" in page.read_bytes()


@pytest.mark.parametrize(("only", "count"), [("convolution", 6), ("Pooling", 1)])
def test_a_type_in_any_case(only, count, stored, capsys) -> None:
    assert main(["compare", "--json", "--only", only, *stored]) == 0
    assert len(json.loads(capsys.readouterr().out)["layers"]) == count


def test_runs_of_one_model_are_told_apart_and_one_without_a_plan(store, stored, capsys) -> None:
    runs = [run_a(), run_a(), measured_run()]
    for run in runs:
        store.save(run)
    text = shown([run.id for run in runs[:2]], capsys)
    assert f". A net a ({runs[0].id[:8]}) B net a ({runs[1].id[:8]})" in text
    assert main(["compare", stored[0], runs[2].id]) == 2
    assert "squeezenet.onnx has no plan to compare" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no plans or runs to compare"),
        (["A"], "alone cannot be compared"),
        (["A", "B", "--only", "Pool"], "did you mean Pooling?"),
        (["A", "B", "A", "--only", "tactic"], None),
        (["A", "B", "A", "--only", "Pooling"], "only the layers of two plans are listed"),
        (["A", "nothing"], "run 'nothing'"),
        (["A", "absent.json"], "absent.json does not exist"),
        (["A", "B", "--plan-profile", "3"], "no layers of profile 3"),
        (["A", "B", "--threshold", "-1"], "--threshold"),
        (["A", "B", "--csv", "x", "--html", "x"], "two results would go into it"),
        (["A", "B", "--csv", "no/such/folder.csv"], "cannot write no/such/folder.csv"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments, said, stored, capsys) -> None:
    ids = dict(zip("AB", stored, strict=True))
    status = main(["compare", *(ids.get(one, one) for one in arguments)])
    err = capsys.readouterr().err
    assert "Traceback" not in err
    if said is None:
        assert status == 0
    else:
        assert status == 2
        assert said in err


@pytest.fixture
def log(data, tmp_path) -> Path:
    packed = data / "trt86-h200-process" / "small_convnet.onnx.engine.build.log.gz"
    found = tmp_path / "build.log"
    found.write_bytes(gzip.decompress(packed.read_bytes()))
    return found


def test_choices_of_two_builds_with_and_without_plans(stored, log, capsys, tmp_path) -> None:
    arguments = ["--build-log", str(log)] * 2
    text = shown(arguments, capsys)
    assert text.startswith("Choices that differ")
    assert "layers were chosen alike" in text
    assert main(["compare", "--json", *arguments]) == 0
    made = json.loads(capsys.readouterr().out)
    assert "plans" not in made
    assert {tuple(one["differs"]) for one in made["build_choices"]} == {()}
    text = shown([*stored, *arguments], capsys)
    assert "What explains the difference" in text
    assert "Choices that differ" in text
    bad = tmp_path / "bad.log"
    bad.write_text("nothing about a build")
    for asked, said in (
        ([*arguments, "--html", str(tmp_path / "x.html")], "no plans or runs to compare"),
        (["--build-log", str(bad)] * 2, "bad.log"),
        ([*stored, "--build-log", str(log)], "give --build-log twice"),
        ([*stored, *["--build-log", str(log)] * 3], "give --build-log twice"),
    ):
        assert main(["compare", *asked]) == 2
        assert said in capsys.readouterr().err
