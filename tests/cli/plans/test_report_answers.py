"""``report`` carries what was found of its runs' answers."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from enginescope.analysis.validation.validation import answers_of_runs, stored_validation
from enginescope.cli.main import main
from enginescope.compat.trtexec.log.outputs import output_json
from enginescope.core.errors import FormatError
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec, Job, Subject, Workload
from enginescope.records.run.run import Run
from enginescope.records.tensor import DataType, Tensor
from enginescope.render.validation.validate_answer import output_diff_data
from enginescope.store.archive import Store
from tests.analysis.answers import tensor
from tests.render.validation.test_validate_answer import found, side

pytestmark = pytest.mark.usefixtures("without_plots")
GENERATOR = np.random.default_rng(0)
SCORES = GENERATOR.standard_normal((1, 1000)).astype(np.float32)
NOISE = GENERATOR.standard_normal((1, 1000)).astype(np.float32)
TIMES = [{"computeMs": 1.0 + at / 100, "latencyMs": 1.2, "h2dMs": 0.1, "d2hMs": 0.1,
          "startH2dMs": 2.0 * at, "endD2hMs": 2.0 * at + 1.2} for at in range(20)]  # fmt: skip


def exported(folder: Path, values: Any) -> Path:
    """A folder as trtexec's wrapper leaves it."""
    folder.mkdir(parents=True)
    (folder / "times.json").write_text(json.dumps(TIMES))
    (folder / "output.json").write_bytes(output_json([tensor(values, "scores")]))
    return folder


def report(capsys: pytest.CaptureFixture[str], output: Path, *arguments: Any) -> dict[str, Any]:
    assert main(["report", *map(str, arguments), "-o", str(output)]) == 0, capsys.readouterr().err
    capsys.readouterr()
    read: dict[str, Any] = json.loads((output / "report.json").read_text())
    return read


def test_exported_outputs_of_imported_runs_are_compared(tmp_path, capsys) -> None:
    good = exported(tmp_path / "good", SCORES)
    near = exported(tmp_path / "near", SCORES + 1e-4 * NOISE)
    made = report(capsys, tmp_path / "r", good, near, exported(tmp_path / "bad", NOISE))
    (answers,) = made["answers"]
    assert [one["passes"] for one in answers["sides"]] == [True, False]
    assert {one["code"] for one in answers["notices"]} == {"W-INPUTS-NOT-KNOWN"}
    page = (tmp_path / "r" / "report.html").read_text()
    assert "1 of 2 sides do not pass" in page
    assert 'id="chart-answers-1-side-2-o0-errors"' in page
    text = (tmp_path / "r" / "report.md").read_text()
    assert "## Outputs compared" in text
    assert "| output |  | max \\|err\\| |" in text
    assert "answers" not in report(capsys, tmp_path / "one", good)


def test_stored_runs_keep_their_outputs_and_comparisons(tmp_path, capsys) -> None:
    store, out = ("--store", tmp_path / "store"), tmp_path / "r"
    good, bad = exported(tmp_path / "good", SCORES), exported(tmp_path / "bad", NOISE)
    difference = {"outputs": {"scores": {"mae": 0.8, "max_abs": 3.5}}}
    (bad / "output_diff.json").write_text(json.dumps(difference))
    main(["import", str(good), str(bad), *map(str, store)])
    (bad / "output_diff.json").unlink()
    kept, compared = report(capsys, out, "latest~1", "latest", *store)["answers"]
    assert kept["outputs"] == [{"name": "scores", "mae": 0.8, "max_abs": 3.5}]
    assert kept["passes"] is None
    assert compared["passes"] is False
    assert "1 output, not judged" in (out / "report.html").read_text()


def test_an_archive_brings_its_comparison(tmp_path, capsys) -> None:
    store = ("--store", str(tmp_path / "store"))
    one = exported(tmp_path / "one", SCORES)
    (one / "output_diff.json").write_text(json.dumps({"scores": {"mae": 0.8}}))
    main(["import", str(one), *store])
    for name, what in (("files.tea", [str(one)]), ("run.tea", ["latest", *store])):
        assert main(["archive", "create", str(tmp_path / name), *what]) == 0
        (answers,) = report(capsys, tmp_path / name[:3], tmp_path / name)["answers"]
        assert answers["outputs"] == [{"name": "scores", "mae": 0.8}]
        assert answers["source"].startswith(str(tmp_path / name))


def test_a_folder_of_validate_can_be_named(tmp_path, capsys) -> None:
    validation = found(side("half · trt:fp16", 0.5))
    folder = tmp_path / "validated"
    folder.mkdir()
    (folder / "output_diff.json").write_bytes(msgspec.json.encode(output_diff_data(validation)))
    good = exported(tmp_path / "good", SCORES)
    (answers,) = report(capsys, tmp_path / "r", good, "--answers", folder)["answers"]
    again = output_diff_data(validation)
    assert answers == {"source": str(folder), **json.loads(msgspec.json.encode(again))}
    assert main(["report", str(good), "--answers", str(tmp_path / "good"), "-o", "x"]) == 2
    assert "it holds no output_diff.json" in capsys.readouterr().err
    assert main(["report", str(folder), "-o", str(tmp_path / "y")]) == 2
    assert "pass it to report --outputs" in capsys.readouterr().err


def test_a_damaged_comparison_is_told() -> None:
    data = json.loads(msgspec.json.encode(output_diff_data(found(side("x", 0.1)))))
    del data["sides"][0]["outputs"][0]["tolerance"]
    with pytest.raises(FormatError, match="not a readable comparison of outputs"):
        stored_validation(data, "f.json")


def run(values: Any, *, seed: int = 0, precision: str | None = None, rows: int = 1) -> Run:
    job = Job(
        subject=Subject(name="net.engine", kind="engine"),
        backend=BackendSpec(name="trt", precision=precision),
        workload=Workload(seed=seed),
    )
    inputs = (Tensor(name="x", dtype=DataType.FP32, shape=(rows, 3)),)
    facts = {"id": f"{seed}{precision}{rows}", "created": "2026-01-01", "origin": "measured"}
    return Run(job=job, inputs=inputs, answers=(tensor(values, "scores"),), **facts)


def test_measured_runs_are_compared_where_their_inputs_were_the_same() -> None:
    base = run(SCORES)
    same, other = answers_of_runs([base, run(SCORES, precision="int8"), run(SCORES, seed=1)]).sides
    assert same.passes
    assert same.tolerance == "int8"
    assert (other.passes, other.failure) == (False, "not compared: other seed of random inputs")
    (wider,) = answers_of_runs([base, run(SCORES, rows=2)]).sides
    assert wider.failure == "not compared: another shape of x"
    assert answers_of_runs([base]) is None
    assert answers_of_runs([base, replace(base, answers=())]) is None


@pytest.mark.parametrize(("tf32", "row"), [("0", "fp32"), ("1", "tf32")])
def test_runs_without_tf32_are_held_to_the_row_of_fp32(tf32, row) -> None:
    base = run(SCORES, precision="fp32")
    backend = BackendSpec(name="trt", precision="fp32", options={"tf32": tf32})
    one = replace(base, job=replace(base.job, backend=backend))
    (side,) = answers_of_runs([one, replace(one, id="other")]).sides
    assert side.tolerance == row


def test_a_stored_run_with_outputs_has_a_report(tmp_path, capsys) -> None:
    Store(tmp_path / "store").save(run(SCORES))
    made = report(capsys, tmp_path / "r", "latest", "--store", tmp_path / "store")
    assert "answers" not in made["runs"][0]["record"]
