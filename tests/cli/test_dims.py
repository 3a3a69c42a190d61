"""``--dim`` and the ranges of indices, in every verb that feeds a model, and from Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from enginescope.cli.main import main
from enginescope.formats.tensors.tensor_files import answer_file, read_answers
from enginescope.records.run.job import DimSize
from enginescope.store.archive import Store
from tests.runner.test_model_inputs import encoder

pytestmark = pytest.mark.usefixtures("in_process")

DIMS = ("--dim", "batch=2", "--dim", "seq=5")
SIZES = (DimSize(name="batch", size=2), DimSize(name="seq", size=5))


@pytest.fixture
def model(tmp_path) -> Path:
    return encoder(tmp_path / "net.onnx")


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    return tmp_path / "store"


def shapes_of(run: Any) -> dict[str, tuple[int, ...]]:
    return {one.name: one.shape for one in run.inputs}


def test_bench_and_its_comparison_feed_the_named_sizes(model, store, capsys) -> None:
    quick = ("--warmup", "1", "--iterations", "5", "--no-layers", "--json")
    assert main(["bench", str(model), *DIMS, *quick]) == 0
    capsys.readouterr()
    (run,) = (Store(store).load(one) for one in Store(store).ids())
    assert shapes_of(run) == {"ids": (2, 5), "types": (2, 5), "mask": (2, 5)}
    assert run.job.workload.dims == SIZES
    assert not any("DYNAMIC-SHAPE" in one.code for one in run.notices)

    other = ("--on", "ort-cpu", "--on", "ort-cpu?intra_op_num_threads=1")
    assert main(["bench", str(model), *DIMS, *other, *quick, "--compare", "--rounds", "8"]) == 0
    runs = [Store(store).load(one) for one in Store(store).ids()]
    assert len(runs) > 2
    assert {tuple(shapes_of(one).values()) for one in runs} == {((2, 5),) * 3}


def test_an_unknown_dimension_is_a_mistake_of_the_user(model, capsys) -> None:
    assert main(["bench", str(model), "--dim", "sequence=5"]) == 2
    said = capsys.readouterr().err
    assert "dimension sequence=5" in said
    assert "batch, seq" in said
    assert main(["bench", str(model), "--dim", "seq=5", "--dim", "seq=6"]) == 2
    assert "two sizes" in capsys.readouterr().err


def test_bench_without_sizes_says_once_which_were_taken(model, capsys) -> None:
    assert main(["bench", str(model), "--warmup", "1", "--iterations", "5", "--no-layers"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("using size 1 for the dynamic dimensions batch, seq") == 1
    assert "--dim batch=SIZE --dim seq=SIZE" in text


def test_validate_feeds_every_side_the_same_sizes_and_indices(model, tmp_path, capsys) -> None:
    out = tmp_path / "out"
    exact = "ort-cpu?graph_optimization_level=disable"
    given = ("--on", exact, "--samples", "2", "--output", out, "--json")
    assert main(["validate", *map(str, (model, *DIMS, *given))]) == 0
    assert json.loads(capsys.readouterr().out)["passes"]
    inputs = {one.name: one for one in read_answers(answer_file(out / "samples" / "inputs", 0))}
    assert {one.shape for one in inputs.values()} == {(2, 5)}
    assert 0 <= inputs["ids"].data.min() <= inputs["ids"].data.max() < 50


def test_a_suite_has_cells_for_each_set_of_sizes(model, tmp_path, store) -> None:
    text = f"""
[suite]
mode = "both"
layers = false
[timing]
duration = "50ms"
[validation]
samples = 1
[[model]]
path = "{model}"
backends = ["ort-cpu"]
dims = [{{ batch = 2, seq = 5 }}, {{ batch = 1, seq = 3 }}]
"""
    (tmp_path / "suite.toml").write_text(text)
    assert main(["suite", str(tmp_path / "suite.toml")]) == 0
    runs = [Store(store).load(one) for one in Store(store).ids()]
    assert {tuple(shapes_of(one).values()) for one in runs} == {((2, 5),) * 3, ((1, 3),) * 3}
