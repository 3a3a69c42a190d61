"""``validate`` from end to end, on models made here."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.cli.main import main
from enginescope.services.accuracy.validation_run import ValidationRun
from tests.fakes.models import WEIGHTS, save, value

pytestmark = pytest.mark.usefixtures("in_process")

EXACT = "ort-cpu?graph_optimization_level=disable"


def perceptron(path: Path, weights: Any = WEIGHTS, name: str = "y") -> Path:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Tanh", ["m"], [name])]
    return save(path, nodes, [value("x", ["n", 4])], [value(name, ["n", 3])], w=weights)


def data_set(folder: Path, x: Any, **outputs: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "input_0.pb").write_bytes(numpy_helper.from_array(x, "x").SerializeToString())
    for at, (name, values) in enumerate(outputs.items()):
        proto = numpy_helper.from_array(values, name)
        (folder / f"output_{at}.pb").write_bytes(proto.SerializeToString())
    return folder


def run(capsys, *arguments: Any) -> tuple[int, Any]:
    status = main(["validate", *map(str, arguments), "--json"])
    text = capsys.readouterr().out
    return status, json.loads(text) if text else None


def codes(found: Any) -> list[str]:
    (side,) = found["sides"]
    return [reason["code"] for one in side["outputs"] for reason in one["reasons"]]


X = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
Y = np.tanh(X @ WEIGHTS)


def test_a_model_passes_on_its_own_data_set_and_fails_on_broken_ones(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    data_set(tmp_path / "test_data_set_0", X, y=Y)
    before = sorted(one.relative_to(tmp_path) for one in tmp_path.rglob("*"))
    status, found = run(capsys, model)
    assert (status, found["passes"]) == (0, True)
    assert found["reference"] == "expected outputs of the data set"
    noise = np.random.default_rng(1).uniform(-1, 1, Y.shape).astype(np.float32)
    broken = {"noise": noise, "swapped": np.roll(Y, 1, 0), "scaled": 1.01 * Y, "turned": Y.T}
    for name, values in broken.items():
        folder = data_set(tmp_path.with_name(f"{tmp_path.name}-{name}"), X, y=values)
        status, found = run(capsys, model, "--data", folder)
        assert (status, found["passes"]) == (1, False), name
    assert codes(found) == ["shape"]
    assert sorted(one.relative_to(tmp_path) for one in tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_a_page_and_markdown_need_no_folder(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    page, markdown = tmp_path / "out.html", tmp_path / "out.md"
    before = set(tmp_path.iterdir())
    files = ["--html", str(page), "--markdown", str(markdown)]
    assert main(["validate", str(model), "--on", EXACT, "--samples", "2", *files]) == 0
    assert f"open: {page}" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) - before == {page, markdown}
    for text in (page.read_text(), markdown.read_text()):
        assert "passes: 1 output" in text
    assert "| output |  | max" in markdown.read_text()


@pytest.mark.parametrize(("count", "is_said"), [("4", True), ("1", False)])
def test_fewer_samples_than_asked_for_are_said(tmp_path, capsys, count, is_said) -> None:
    model = perceptron(tmp_path / "net.onnx")
    data_set(tmp_path / "test_data_set_0", X, y=Y)
    assert main(["validate", str(model), "--on", EXACT, "--samples", count]) == 0
    text = " ".join(capsys.readouterr().err.split())
    assert ("the data has only 1 sample: enginescope uses no more" in text) == is_said


def test_random_samples_go_to_every_side_alike(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    half = perceptron(tmp_path / "worse.onnx", WEIGHTS * 1.02)
    out = tmp_path / "out"
    usual = (model, half, "--on", EXACT, "--samples", 3, "--batch", 4, "-o", out)
    status, found = run(capsys, *usual, "--skip-output-save")
    assert not (out / "samples").exists()
    assert status == 1
    assert run(capsys, *usual)[1]["sides"] == found["sides"]
    same, worse = found["sides"]
    assert same["passes"]
    assert not worse["passes"]
    assert found["num_samples"] == 3
    assert "fp32 on the CPU, 1 thread" in found["reference_note"]
    assert len(json.loads((out / "per_sample_diff.json").read_text())["sides"][0]["samples"]) == 3
    assert json.loads((out / "output_diff.json").read_text())["sides"] == found["sides"]
    with np.load(out / "samples" / "inputs" / "000001.npz") as inputs:
        x = inputs["x"]
    with np.load(out / "samples" / "side-2" / "000001.npz") as answers:
        np.testing.assert_allclose(answers["y"], np.tanh(x @ (WEIGHTS * np.float32(1.02))), 1e-5)
    assert main(["validate", *map(str, usual)]) == 2  # nothing is overwritten
    assert "has samples already" in capsys.readouterr().err
    assert main(["validate", str(model), "--on", EXACT, "-o", str(tmp_path)]) == 2
    assert "it contains models or data" in capsys.readouterr().err


def test_what_is_wrong_is_said_before_anything_runs(tmp_path, capsys, monkeypatch) -> None:
    model = perceptron(tmp_path / "net.onnx")
    text = tmp_path / "text.onnx"
    text.write_text("hello")
    monkeypatch.setattr(ValidationRun, "answers", lambda _: pytest.fail("they answered"))
    assert main(["validate", str(model), "--on", EXACT, "--rtol", "z:1"]) == 2
    assert "no output is called 'z'" in capsys.readouterr().err
    assert main(["validate", str(model), str(text)]) == 2
    assert "it is not an ONNX model" in capsys.readouterr().err


def test_random_integers_that_a_model_rejects_are_to_be_bounded(tmp_path, capsys) -> None:
    # the graph computes the indices, so it does not tell their bounds
    nodes = [
        helper.make_node("Add", ["ids", "zero"], ["sum"]),
        helper.make_node("Gather", ["w", "sum"], ["y"]),
    ]
    inputs, zero = [value("ids", [1, 8], TensorProto.INT64)], np.zeros(1, np.int64)
    model = save(tmp_path / "t.onnx", nodes, inputs, [value("y", [1, 8, 3])], w=WEIGHTS, zero=zero)
    assert main(["validate", str(model), "--on", EXACT, "--samples", "1"]) == 3
    assert "--range ids:0:99" in " ".join(capsys.readouterr().err.split())
    bounded = ["--samples", "1", "--range", "ids:0:3"]
    assert main(["validate", str(model), "--on", EXACT, *bounded]) == 0


def test_bindings_come_first(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    nodes = [helper.make_node("Relu", ["other"], ["y"])]
    stranger = save(tmp_path / "s.onnx", nodes, [value("other", [1, 4])], [value("y", [1, 4])])
    status, found = run(capsys, stranger, "--reference", model, "--samples", 1)
    assert status == 1
    (side,) = found["sides"]
    assert side["outputs"] == []
    blocking = [one for one in side["binding_differences"] if one["blocks"]]
    assert {one["name"]: one["what"] for one in blocking} == {"x": "missing", "other": "extra"}
    main(["validate", str(stranger), "--reference", str(model), "--samples", "1"])
    assert "incompatible: s.onnx" in capsys.readouterr().out


@pytest.mark.slow
def test_outputs_of_other_names_are_verdicts_and_shapes_further_samples(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    renamed = perceptron(tmp_path / "renamed.onnx", name="z")
    status, found = run(capsys, renamed, "--reference", model, "--samples", 1)
    assert status == 1
    assert sorted(codes(found)) == ["extra", "missing"]
    shapes = ("--input-shape", "x:2,4", "--input-shape", "x:5x4", "--input-shape", "x:9,4")
    status, found = run(capsys, model, "--on", EXACT, *shapes, "--samples", 2)
    assert status == 0
    assert found["num_samples"] == 6
    assert found["sides"][0]["outputs"][0]["shapes"] == [[2, 3], [5, 3], [9, 3]]


@pytest.mark.slow
def test_stored_answers_are_a_reference(tmp_path, capsys) -> None:
    model, out = perceptron(tmp_path / "net.onnx"), tmp_path / "out"
    run(capsys, model, "--on", EXACT, "--samples", 2, "--batch", 3, "-o", out)
    again = ("--data", out / "samples" / "inputs", "--reference", out / "samples" / "reference")
    assert run(capsys, model, *again)[0] == 0
    status, found = run(capsys, perceptron(tmp_path / "worse.onnx", -WEIGHTS), *again)
    assert status == 1
    assert {"error", "systematic-scale"} <= set(codes(found))


@pytest.mark.slow
def test_outputs_of_unknown_size_texts_and_sequences_are_compared(tmp_path, capsys) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"]),
        helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0),
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
    ]
    sequence = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
    outputs = [value("where", [2, "k"], TensorProto.INT64), sequence, value("total", [])]
    model = save(tmp_path / "odd.onnx", nodes, [value("x", ["n", 4])], outputs)
    status, found = run(capsys, model, "--on", EXACT, "--samples", 2, "--batch", 2)
    assert status == 0
    names = [one["name"] for one in found["sides"][0]["outputs"]]
    assert names == ["where", "parts[0]", "parts[1]", "total"]
    labels = [helper.make_node("Identity", ["s"], ["t"])]
    s, t = (value(name, [2], TensorProto.STRING) for name in "st")
    texts = save(tmp_path / "texts.onnx", labels, [s], [t])
    assert run(capsys, texts, "--on", EXACT, "--samples", 1)[0] == 0


@pytest.mark.slow
def test_tolerances_by_output_take_the_place_of_defaults(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    data_set(tmp_path / "test_data_set_0", X, y=Y + np.float32(0.01))
    assert run(capsys, model)[0] == 1
    assert run(capsys, model, "--atol", "0.011")[0] == 0
    assert run(capsys, model, "--atol", "y:0.009")[0] == 1
    status, found = run(capsys, model, "--atol", "20")
    assert status == 0
    (output,) = found["sides"][0]["outputs"]
    assert [one["code"] for one in output["notices"]] == ["W-TOLERANCE-LOOSE"]
    main(["validate", str(model), "--atol", "20"])
    assert "limits     those of --atol and --rtol" in capsys.readouterr().out
    # A row is of use beside limits of other outputs, of elements, of the tensors inside.
    side = (model, "--on", EXACT, "--samples", 1, "--tolerance", "fp16", "--random")
    for limits in ("--rtol y:0.1", "--percent-mismatch 1", "--atol 0.1 --bisect"):
        assert run(capsys, *side, *limits.split())[0] == 0, limits


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to compare"),
        (("--reference", "gone.onnx"), "no such file"),
        (("--data", "nowhere"), "no such file or folder"),
        (("--on", EXACT, "--tolerance", "fp17"), "no tolerance is called"),
        (("--on", EXACT, "--skip-output-save"), "nothing is kept"),
        (("--random", "--data", "."), "each of them"),
        (("--on", EXACT, "--tolerance", "fp16", "--rtol", "0.1"), "--tolerance and --rtol"),
        (("--on", EXACT, "--tolerance", "fp16", "--atol", "0.1", "--rtol", "y:1"), "and --atol"),
        (("--on", EXACT, "--input-shape", "X:1,4"), "net.onnx has no input called 'X'"),
        (("--on", EXACT, "--input-shape", "z:1,4", "--input-shape", "z:2,4"), "one of: 'x'"),
        (("--on", EXACT, "--range", "z:0:9"), "one of: 'x'"),
    ],
)
def test_mistakes_are_said_in_a_line(tmp_path, capsys, arguments, said) -> None:
    assert main(["validate", str(perceptron(tmp_path / "net.onnx")), *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_side_that_fails_leaves_the_others(tmp_path, capsys) -> None:
    model, broken = perceptron(tmp_path / "net.onnx"), tmp_path / "broken.onnx"
    made = onnx.load(model)
    made.graph.node[1].op_type = "Frobnicate"
    onnx.save(made, broken)
    status, found = run(capsys, model, broken, "--on", EXACT, "--samples", 1)
    assert status == 3
    good, bad = found["sides"]
    assert good["passes"]
    assert "Frobnicate" in bad["failure"]
    np.save(tmp_path / "wide.npy", np.zeros((2, 5), np.float32))  # does not fit
    data = ("--data", str(tmp_path / "wide.npy"))
    assert main(["validate", str(model), "--on", EXACT, *data]) == 3
    assert "sample 0 (wide.npy)" in capsys.readouterr().err


def test_the_screen_answers_first(tmp_path, capsys) -> None:
    model = perceptron(tmp_path / "net.onnx")
    worse = perceptron(tmp_path / "worse.onnx", -WEIGHTS)
    main(["validate", str(worse), "--reference", str(model), "--samples", "2", "--batch", "4"])
    lines = capsys.readouterr().out.splitlines()
    far = "(error 20,173 × the limit, 2 of 2 samples)"
    assert lines[0] == f"worse.onnx · ort-cpu fails: output y {far}"
    assert all(len(line) <= 80 for line in lines)
    at = next(at for at, line in enumerate(lines) if line.startswith("  why "))
    assert "y: RMSE is" in lines[at]
    assert "also peak, channel-error" in " ".join(one.strip() for one in lines[at : at + 3])


@pytest.mark.slow
def test_nothing_is_written_beside_what_is_read(tmp_path, capsys, monkeypatch) -> None:
    """Nor in the working folder."""
    read, here = tmp_path / "read", tmp_path / "here"
    read.mkdir()
    here.mkdir()
    model = perceptron(read / "net.onnx")
    worse = perceptron(read / "worse.onnx", -WEIGHTS)
    data_set(read / "data" / "a", X)
    np.savez(read / "data" / "b.npz", x=X)
    (read / "answers").mkdir()
    for name in ("a", "b"):
        np.savez(read / "answers" / f"{name}.npz", y=Y)
    before = {one: one.stat().st_mtime_ns for one in read.rglob("*")}
    monkeypatch.chdir(here)
    data = ("--data", read / "data")
    assert run(capsys, model, worse, "--on", EXACT, *data, "-o", tmp_path / "out")[0] == 1
    assert run(capsys, model, *data, "--reference", read / "answers")[0] == 0
    assert run(capsys, model, "--on", "ort-cpu:fp16", *data, "--store", tmp_path / "s")[0] == 0
    for folder in (read, read / "data", read / "answers"):
        arguments = [model, *data, "--reference", read / "answers", "-o", folder]
        assert main(["validate", *map(str, arguments)]) == 2, folder
    assert {one: one.stat().st_mtime_ns for one in read.rglob("*")} == before
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_a_folder_may_name_inputs_as_files_can(tmp_path, capsys) -> None:
    nodes = [helper.make_node("Add", ["a/x:0", "b"], ["y"])]
    ends = ([value("a/x:0", [2]), value("b", [2])], [value("y", [2])])
    model = save(tmp_path / "net.onnx", nodes, *ends)
    sample = tmp_path / "data" / "first"
    sample.mkdir(parents=True)
    np.save(sample / "a_x_0.npy", np.array([1, 2], np.float32))
    np.array([3, 4], np.float32).tofile(sample / "b.raw")
    np.savez(tmp_path / "first.npz", y=np.array([4, 6], np.float32))
    assert run(capsys, model, *("--data", tmp_path / "data", "--reference", tmp_path))[0] == 0


@pytest.mark.slow
def test_models_of_one_name_are_not_taken_for_each_other(tmp_path, capsys) -> None:
    for folder, weights in (("a", WEIGHTS), ("b", -WEIGHTS), ("c", WEIGHTS)):
        (tmp_path / folder).mkdir()
        perceptron(tmp_path / folder / "net.onnx", weights)
    a, b, c = (tmp_path / folder / "net.onnx" for folder in "abc")
    status, found = run(capsys, b, "--reference", a, "--samples", 2)
    assert (status, found["reference"]) == (1, "a/net.onnx · ort-cpu")
    status, found = run(capsys, b, c, "--reference", a, "--samples", 2)
    assert status == 1
    sides = [(one["side"][0], one["passes"]) for one in found["sides"]]
    assert sides == [("b", False), ("c", True)]
