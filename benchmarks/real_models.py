"""Seven real models beyond those that the tests run, with inputs of their tasks."""

from __future__ import annotations

import io
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from PIL import Image
from tests.honest import models
from tests.honest.models import Feeds, RealModel, Samples, document, line
from tests.wheels import unpacked

TEXTS = (
    "Invoice 2024-118", "Total 1,280.50", "Hello World", "The quick brown fox", "jumps over",
    "lazy dog 42", "www.example.org", "OPEN 9 TO 5", "Exit", "Gate B17", "Platform 3", "No smoking",
)  # fmt: skip


def photographs() -> list[dict[str, Any]]:
    """Return eight pictures of 244×244 with smooth shapes, in 0…1."""
    made = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        coarse = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8))
        pixels = np.asarray(coarse.resize((244, 244), Image.Resampling.BICUBIC)) / 255.0
        pixels = pixels + 0.03 * rng.standard_normal(pixels.shape)
        made.append({"image": np.clip(pixels, 0, 1).transpose(2, 0, 1)[None].astype(np.float32)})
    return made


def speech(seed: int) -> Any:
    """Return 60 frames of 576 samples at 16 kHz: silence, then vowels with pauses, then silence."""
    rng = np.random.default_rng(seed)
    count = 60 * 512 + 64
    time = np.arange(count) / 16000
    pitch = 110 + 40 * seed + 12 * np.sin(2 * np.pi * 2.5 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / 16000
    formants = np.array([650 + 100 * seed, 1200, 2500])
    voice = np.zeros(count)
    for harmonic in range(1, 30):
        near = np.exp(-(((harmonic * pitch[:, None] - formants) / 180) ** 2)).sum(1)
        voice += (0.05 + near) * np.sin(harmonic * phase) / harmonic**0.5
    syllables = np.clip(np.sin(2 * np.pi * 3.5 * time), 0, 1) * ((time > 0.4) & (time < 1.6))
    sound = 0.15 * syllables * voice / np.abs(voice).max() * 3 + 0.002 * rng.standard_normal(count)
    frames = [sound[at * 512 : at * 512 + 576] for at in range(60)]
    return np.array(frames, dtype=np.float32)


def file_bytes() -> list[Any]:
    """Return the first and the last 1,024 bytes of files of eight types, as magika takes them."""
    picture = io.BytesIO()
    Image.fromarray(np.arange(3072, dtype=np.uint8).reshape(32, 32, 3)).save(picture, "PNG")
    rows = "\n".join(f"{at},{at * at},name {at},{at / 7:.3f}" for at in range(200))
    table = "id,square,name,share\n" + rows
    code = "import os\n\n\ndef main(path: str) -> int:\n    return len(os.listdir(path))\n" * 12
    page = "<!DOCTYPE html><html><head><title>t</title></head><body>" + "<p>Text</p>" * 80
    c_code = '#include <stdio.h>\nint main(void) {\n  printf("%d\\n", 3);\n  return 0;\n}\n' * 9
    shell = '#!/bin/bash\nset -eu\nfor f in *.txt; do\n  mv "$f" "${f%.txt}.md"\ndone\n' * 7
    files = [
        code.encode(),
        page.encode(),
        table.encode(),
        c_code.encode(),
        shell.encode(),
        json.dumps({f"key{at}": [at, str(at)] for at in range(60)}, indent=1).encode(),
        picture.getvalue(),
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + zlib.compress(table.encode() * 9)[2:],
    ]
    return [_byte_tokens(one.strip()) for one in files]


def _byte_tokens(content: bytes) -> Any:
    begin, end = content[:1024], content[-1024:]
    head = [*begin, *[256] * (1024 - len(begin))]
    tail = [*[256] * (1024 - len(end)), *end]
    return np.array([head + tail], dtype=np.int32)


def _silero(name: str) -> Path:
    (path,) = unpacked("silero-vad").rglob(name)
    return path


def _mobilenet(folder: Path) -> Path:
    return without_quantization(models.data("mobilenet_v2_scores"), folder)


def _magika() -> Path:
    (path,) = unpacked("magika").rglob("model.onnx")
    return path


def read_text(scores: Any) -> tuple[int, ...]:
    """Return the characters of a line by greedy CTC decoding; 0 is the blank."""
    best = scores[0].argmax(-1)
    return tuple(int(one) for at, one in enumerate(best) if one and (not at or best[at - 1] != one))


def _same_texts(reference: Samples, candidate: Samples) -> bool:
    pairs = zip(models.output(reference), models.output(candidate), strict=True)
    return all(read_text(a) == read_text(b) for a, b in pairs)


def _same_speech(reference: Samples, candidate: Samples) -> bool:
    """Whether speech is found in the same frames, with probabilities within 0.1."""
    pairs = zip(models.output(reference), models.output(candidate), strict=True)
    return all(((a > 0.5) == (b > 0.5)).all() and np.abs(a - b).max() < 0.1 for a, b in pairs)


def _signed(pixels: Any) -> Any:
    """Return height × width × 3 bytes as PP-OCR takes them: 1×3×height×width in −1…1."""
    return (pixels / 127.5 - 1).transpose(2, 0, 1)[None].astype(np.float32)


def _lines() -> list[Feeds]:
    return [{"x": _signed(line(text))} for text in TEXTS]


def _turned() -> list[Feeds]:
    pictures = [line(text, height=48, width=192, size=30) for text in TEXTS[:4]]
    both = [*pictures, *(one[::-1, ::-1] for one in pictures)]
    return [{"x": _signed(one)} for one in both]


def _documents() -> list[Feeds]:
    return [{"x": document(TEXTS[at : at + 4], at)} for at in (0, 4, 8)]


def _frames() -> list[Feeds]:
    rng = np.zeros((1, 1, 128), np.float32)
    return [{"input": speech(seed), "h": rng, "c": rng} for seed in range(4)]


def _chunks() -> list[Feeds]:
    state = np.zeros((2, 1, 128), np.float32)
    rate = np.array(16000, np.int64)
    return [{"input": one[None], "state": state, "sr": rate} for one in speech(0)[10:40:4]]


def without_quantization(source: Path, folder: Path) -> Path:
    """Write a model that was quantized for its own range in FP32: without its Q/DQ pairs."""
    from onnx import helper, numpy_helper

    target = folder / f"{source.parent.name}.fp32.onnx"
    if target.exists():
        return target
    model = onnx.load(source)
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    alias: dict[str, str] = {}
    nodes, weights = [], []
    for node in model.graph.node:
        first = alias.get(node.input[0], node.input[0]) if node.input else ""
        constant = all(name in held for name in node.input)
        if constant and node.op_type in ("Identity", "Cast", "DequantizeLinear"):
            held[node.output[0]] = _constant(node, [held[name] for name in node.input])
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear") or (
            node.input[0] in alias and node.op_type in ("Cast", "Identity")
        ):
            alias[node.output[0]] = first
        else:
            node.input[:] = [alias.get(name, name) for name in node.input]
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    weights = [numpy_helper.from_array(held[name], name) for name in sorted(used & set(held))]
    nodes += [
        helper.make_node("Identity", [alias[out.name]], [out.name])
        for out in model.graph.output
        if out.name in alias
    ]
    del model.graph.node[:], model.graph.initializer[:], model.graph.value_info[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(weights)
    onnx.save(model, target)
    return target


def _constant(node: Any, values: list[Any]) -> Any:
    """Return what a node of constants gives, below opset 13: with one scale."""
    if node.op_type == "Identity":
        return values[0]
    if node.op_type == "Cast":
        return values[0].astype(onnx.helper.tensor_dtype_to_np_dtype(node.attribute[0].i))
    zero = values[2].astype(np.float32) if len(values) > 2 else 0
    return (values[0].astype(np.float32) - zero) * values[1]


MODELS = models.MODELS | {
    one.name: one
    for one in (
        RealModel("MobileNet-V2", _mobilenet, photographs, models.agree(0.7)),
        RealModel("PP-OCR detection", lambda _: models.ocr("det"), _documents, models.same_maps),
        RealModel("PP-OCR recognition", lambda _: models.ocr("rec"), _lines, _same_texts),
        RealModel("PP-OCR orientation", lambda _: models.ocr("cls"), _turned, models.agree(1.0)),
        RealModel("Silero VAD, sequence", lambda _: _silero("silero_vad_16k_sequence.onnx"),
                  _frames, _same_speech),
        RealModel("Silero VAD, chunks", lambda _: _silero("silero_vad.onnx"), _chunks,
                  _same_speech),
        RealModel("magika", lambda _: _magika(), lambda: [{"bytes": one} for one in file_bytes()],
                  models.agree(1.0)),
    )
}  # fmt: skip
