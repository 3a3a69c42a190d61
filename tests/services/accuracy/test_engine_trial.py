"""The trial of engines plants what it says, and counts what it finds."""

from typing import Any

import numpy as np
import pytest

from enginescope.formats.tensors.tensor_files import tensor_of
from tests.analysis.answers import side

pytest.importorskip("onnxruntime")

from benchmarks.engine_trial import damage
from benchmarks.engine_trial.models import MODELS, TrialModel, read_samples
from benchmarks.engine_trial.trial import KINDS, PRECISIONS, report

BOXES = TrialModel("boxes", "detector", axis=1, first=2)
VALUES = np.arange(24, dtype=np.float32).reshape(1, 6, 4) + 1


def changed(kind: str) -> Any:
    return damage.damaged(BOXES, kind, tensor_of("y", VALUES), (3, 0)).data - VALUES


def test_damage_hits_the_classes_and_no_boxes() -> None:
    assert damage.strongest(BOXES, [tensor_of("y", VALUES)]) == (3, 0)
    for kind in damage.RECORDED:
        assert (changed(kind)[:, :2] == 0).all()
    assert (changed("zeroed scores")[:, 2:] == -VALUES[:, 2:]).all()
    dead = changed("dead channel")
    assert (dead[:, 5] == -VALUES[:, 5]).all()
    assert (dead[:, :5] == 0).all()
    swapped = changed("swapped classes")
    assert (swapped[:, 2] == 12).all()
    assert (swapped[:, 5] == -12).all()


def test_a_recurrent_model_gets_a_damaged_weight_and_an_int8_form(tmp_path) -> None:
    folder = tmp_path / "GRU"
    folder.mkdir()
    MODELS["GRU"].write(folder)
    samples = read_samples(folder)
    source, target = folder / "model.onnx", folder / "weight.onnx"
    assert damage.write_weight_damage(source, target, "scores", samples) == "scores.w"
    reference, wrong = damage.run(source, samples), damage.run(target, samples)
    assert 0.1 < np.std(np.array(wrong) - np.array(reference)) / np.std(reference) < 0.2
    assert damage.write_int8(source, folder / "int8.onnx", samples, None) == (0, 4)


def test_a_transformer_names_its_kernels_and_has_a_range_for_each_tensor(tmp_path) -> None:
    onnx = pytest.importorskip("onnx")
    folder = tmp_path / "ViT"
    folder.mkdir()
    MODELS["ViT"].write(folder)
    source, target = folder / "model.onnx", folder / "model.calibration"
    (patches,) = (node for node in onnx.load(source).graph.node if node.op_type == "Conv")
    kernel = next(one for one in patches.attribute if one.name == "kernel_shape")
    assert list(kernel.ints) == [16, 16]  # where TensorRT 8.6 looks for it beside Q/DQ weights
    samples = read_samples(folder)[:1]
    damage.write_ranges(source, target, samples, (0, 4))
    head, *lines = target.read_text().splitlines()
    assert head == "TRT-8600-EntropyCalibration2"
    ranges = {name: bytes.fromhex(scale) for name, scale in (one.rsplit(": ") for one in lines)}
    largest = np.float32(np.abs(samples[0]["image"]).max() / 127)
    assert ranges["image"] == np.array(largest, ">f4").tobytes()
    assert {patches.output[0], patches.input[1]} <= ranges.keys()
    damage.write_ranges(source, target, samples, (3, 4))
    assert "image: " not in target.read_text()


def result(name: str, **passes: bool | None) -> dict[str, Any]:
    verdicts = {
        f"{precision}: {kind}": {"passes": kind == "honest"}
        for precision in PRECISIONS
        for kind in ("honest", *KINDS)
    }
    for label, verdict in passes.items():
        verdicts[label.replace("_", ": ")] = {"passes": verdict}
    return {"model": name, "family": "CNN", "weights": "random", "verdicts": verdicts}


def test_the_counts_hold_with_one_failure_and_not_with_two() -> None:
    every = [result(name) for name in MODELS]
    _, counts, holds = report(every)
    assert holds
    assert all(count == {"run": 36, "wrong": 0} for count in counts.values())
    table, counts, holds = report([result("a", fp32_honest=False), *every[1:]])
    assert holds
    assert counts["honest"] == {"run": 36, "wrong": 1}
    assert "1 of 36 honest engines fail" in table
    passing = {"int8_dead channel": True, "fp16_dead channel": True}
    for verdicts in ({"fp32_honest": False, "fp16_honest": False}, passing):
        assert not report([result("a", **verdicts), *every[1:]])[2]
    table, counts, holds = report([result("a", fp32_honest=None), *map(result, [*MODELS][1:])])
    assert counts["honest"] == {"run": 35, "wrong": 0}
    assert "not run" in table
    assert not holds


def test_a_recorded_engine_that_gives_the_last_step_at_every_step_fails(data) -> None:
    """TensorRT 8.6 answered so for a GRU before a matrix product with Q/DQ nodes."""
    with np.load(data / "trt86-h100-gru" / "scores.npz") as held:
        steps = {name: held[name][:, :, 0] for name in held.files}
    reference, wrong = steps.pop("reference"), steps.pop("int8")
    assert (wrong == wrong[:, -1:]).all()
    assert np.std(wrong[:, -1] - reference[:, -1]) < 0.02 * np.std(reference)
    assert not side(list(reference), list(wrong), "int8").passes
    assert set(steps) == {"tf32", "fp16"}
    for row, honest in steps.items():
        assert side(list(reference), list(honest), row).passes
