"""Inputs of tasks, made here: lines and pages of text, sound like speech, files, pictures."""

import io
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont


def line(text: str, *, height: int = 48, width: int = 320, size: int = 28, ink: int = 0) -> Any:
    """Return a line of text as height × width × 3 bytes; on black where the ink is light."""
    ground = 255 if ink < 128 else 0
    drawn = Image.new("RGB", (width, height), (ground,) * 3)
    font = ImageFont.load_default(size)
    box = font.getbbox(text)
    at = ((6 if width > height else (width - box[2]) / 2), (height - box[3] - box[1]) / 2)
    ImageDraw.Draw(drawn).text(at, text, font=font, fill=(ink,) * 3)
    return np.asarray(drawn).astype(np.float32)


def document(texts: Sequence[str], seed: int) -> Any:
    """Return a page of 320×320 with lines of text, or none, as PP-OCR detection takes it."""
    rng = np.random.default_rng(seed)
    shade = np.linspace(225, 250, 320)[:, None, None] + rng.normal(0, 2, (320, 320, 3))
    page = Image.fromarray(np.clip(shade, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(page)
    for number, text in enumerate(texts):
        draw.text((20, 30 + 70 * number), text, font=ImageFont.load_default(26), fill=(20, 20, 30))
    return page_input(np.asarray(page))


def page_input(pixels: Any) -> Any:
    """Return height × width × 3 bytes as PP-OCR detection takes them."""
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((pixels / 255 - mean) / std).transpose(2, 0, 1)[None].astype(np.float32)


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
    return [_tokens(one.strip()) for one in files]


def _tokens(content: bytes) -> Any:
    begin, end = content[:1024], content[-1024:]
    head = [*begin, *[256] * (1024 - len(begin))]
    tail = [*[256] * (1024 - len(end)), *end]
    return np.array([head + tail], dtype=np.int32)
