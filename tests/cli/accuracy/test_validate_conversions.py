"""Honest conversions of real nets, and the same answers broken."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from tests.cli.accuracy.test_validate import run
from tests.conftest import SHARED
from tests.fakes.models import dequantised

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]


class Reader(CalibrationDataReader):
    """Gives images to calibrate for."""

    def __init__(self, images: Iterable[Any]) -> None:
        self.left = iter(images)

    def get_next(self) -> Any:
        image = next(self.left, None)
        return None if image is None else {"image": np.ascontiguousarray(image)}


@pytest.fixture(scope="module")
def conversions(tmp_path_factory, convnet) -> dict[str, Path]:
    """FP16 and INT8 (QDQ) of the bundled net, by ONNX Runtime's own converters."""
    folder = tmp_path_factory.mktemp("conversions")
    half, eight = folder / "half.onnx", folder / "int8.onnx"
    onnx.save(convert_float_to_float16(onnx.load(convnet), keep_io_types=True), half)
    images = np.random.default_rng(0).uniform(-1, 1, (8, 1, 3, 96, 96)).astype(np.float32)
    quantize_static(str(convnet), str(eight), Reader(images), quant_format=QuantFormat.QDQ)
    return {"fp16": half, "int8": eight}


@pytest.mark.filterwarnings("ignore")
def test_fp16_and_int8_pass_their_own_limits_alone(conversions, convnet, capsys) -> None:
    both = (conversions["fp16"], conversions["int8"])
    common = ("--reference", convnet, "--samples", 4)
    status, found = run(capsys, *both, *common)
    assert status == 0
    half, eight = found["sides"]
    assert (half["tolerance"], eight["tolerance"]) == ("fp16", "int8")
    error = [one["outputs"][0]["error_to_spread"] for one in (half, eight)]
    assert 1e-5 < error[0] < 3e-3 < error[1] < 0.05
    status, found = run(capsys, *both, *common, "--tolerance", "fp32")
    assert status == 1
    assert not any(one["passes"] for one in found["sides"])


def broken(values: Any) -> dict[str, Any]:
    noise = np.random.default_rng(1).uniform(values.min(), values.max(), values.shape)
    return {
        "noise": noise.astype(np.float32),
        "swapped": np.roll(values, values.size // 2),
        "transposed": np.ascontiguousarray(values.T),
        "scaled": (1.01 * values).astype(np.float32),
    }


def test_a_trained_net_passes_its_own_data_set_and_no_broken_one(shared, tmp_path, capsys) -> None:
    folder = shared / "models" / "mobilenet_v2_scores"
    model, before = folder / "model.onnx", sorted(folder.rglob("*"))
    status, found = run(capsys, model)
    assert (status, found["passes"]) == (0, True)
    original = folder / "test_data_set_0"
    expected = onnx.TensorProto.FromString((original / "output_0.pb").read_bytes())
    for name, values in broken(numpy_helper.to_array(expected)).items():
        copy = tmp_path / name
        shutil.copytree(original, copy)
        wrong = numpy_helper.from_array(values, expected.name).SerializeToString()
        (copy / "output_0.pb").write_bytes(wrong)
        assert run(capsys, model, "--data", copy)[0] == 1, name
    assert sorted(folder.rglob("*")) == before


@pytest.fixture(scope="module")
def mobilenet(tmp_path_factory) -> dict[str, Path]:
    """A trained net in FP32, and by ONNX Runtime in INT8, calibrated on its own picture."""
    source = SHARED / "models" / "mobilenet_v2_scores"
    if not source.is_dir():
        pytest.skip(f"shared artifacts are not at {SHARED}")
    folder = tmp_path_factory.mktemp("mobilenet")
    full, eight = dequantised(source / "model.onnx", folder / "full.onnx"), folder / "int8.onnx"
    tensor = onnx.TensorProto.FromString((source / "test_data_set_0/input_0.pb").read_bytes())
    picture = numpy_helper.to_array(tensor)
    turned = Reader([picture, picture[..., ::-1], picture.swapaxes(2, 3)])
    quantize_static(str(full), str(eight), turned, quant_format=QuantFormat.QDQ, per_channel=True)
    return {"fp32": full, "int8": eight, "data": source / "test_data_set_0"}


@pytest.mark.filterwarnings("ignore")
def test_a_trained_net_in_fp16_and_int8_has_verdicts_of_its_own(mobilenet, capsys) -> None:
    picture = ("--data", mobilenet["data"])
    half = ("--on", "ort-cpu:fp16", "--reference", "ort-cpu")
    status, found = run(capsys, mobilenet["fp32"], *half, *picture)
    (side,) = found["sides"]
    assert (status, side["tolerance"]) == (0, "fp16")
    error = side["outputs"][0]["error_to_spread"]
    assert 3e-4 < error < 0.01
    eight = ("--reference", mobilenet["fp32"], *picture)
    status, found = run(capsys, mobilenet["int8"], *eight)
    (side,) = found["sides"]
    assert (status, side["tolerance"]) == (0, "int8")
    assert 10 * error < side["outputs"][0]["error_to_spread"] < 0.15
    status, found = run(capsys, mobilenet["int8"], *eight, "--tolerance", "fp16")
    assert (status, found["passes"]) == (1, False)
    # noise is nothing that it was calibrated for
    random = ("--reference", mobilenet["fp32"], "--random", "--samples", 2)
    status, found = run(capsys, mobilenet["int8"], *random)
    assert (status, found["passes"]) == (1, False)
    assert "W-RANDOM-SAMPLES" in {one["code"] for one in found["notices"]}


def test_a_net_of_dynamic_shapes_is_compared_at_each(shared, capsys) -> None:
    model = shared / "models" / "bert_toy" / "model.onnx"
    shapes = [
        part
        for length in (8, 16, 32)
        for name in ("input_ids", "token_type_ids", "input_mask")
        for part in ("--input-shape", f"{name}:1,{length}")
    ]
    ranges = ("--range", "input_ids:0:98", "--range", "token_type_ids:0:1")
    status, found = run(
        capsys, model, "--on", "ort-cpu?graph_optimization_level=disable", *shapes, *ranges,
        "--range", "input_mask:1:1", "--samples", 2,
    )  # fmt: skip
    assert status == 0
    assert found["num_samples"] == 6
    assert [one[1] for one in found["sides"][0]["outputs"][0]["shapes"]] == [8, 16, 32]


def test_fp16_that_the_cpu_computes_in_fp32_is_said(convnet, capsys) -> None:
    half = ("--on", "ort-cpu:fp16", "--reference", "ort-cpu", "--samples", 1)
    for _ in ("converted", "from the cache"):
        status, found = run(capsys, convnet, *half)
        assert status == 0
        assert [one["code"] for one in found["notices"]].count("W-NOT-FP16") == 1
