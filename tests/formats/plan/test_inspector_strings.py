"""The TensorRT 11 schema against the strings of a library that writes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from enginescope.formats.plan.plan_json import parse_plan
from tests.formats import plans

FILE = Path(__file__).parents[2] / "data" / "tensorrt-symbols" / "inspector-rtx-1.7.1.json"
STRINGS = json.loads(FILE.read_text(encoding="utf-8"))
KEYS = {text.strip('{}[]:" ') for text in STRINGS["present"]}
#: Keys of this length may be in the code of a library, not among its strings.
INLINED = 10
#: Keys of public files that the library does not have.
NOT_WRITTEN = {"ProfilingVerbosity"}


def keys_of(value: Any) -> set[str]:
    if isinstance(value, list):
        return {key for each in value for key in keys_of(each)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {key for each in value.values() for key in keys_of(each)}


def test_every_long_key_of_the_schema_is_written_by_the_library() -> None:
    long = {key for key in keys_of(plans.tensorrt_11()) if len(key) > INLINED}
    assert {"I/O Tensors", "IsShapeInferenceIO", "ProfileInfo"} <= long
    assert long - NOT_WRITTEN <= KEYS
    assert {"Datatype", "MinShape", "OptShape", "MaxShape", "Constants"} <= KEYS


@pytest.mark.parametrize("text", STRINGS["absent"])
def test_what_the_library_does_not_write_is_not_in_the_schema(text) -> None:
    key = text.strip('": [')
    assert key not in keys_of(plans.tensorrt_11())
    assert key not in KEYS


def test_a_document_of_the_written_keys_is_read() -> None:
    """``Engine Metadata`` with ``Multi-Device`` is accepted without a notice."""
    document = plans.tensorrt_11() | {"Engine Metadata": {"Multi-Device": "Disabled"}}
    document["I/O Tensors"][0]["IsShapeInferenceIO"] = True
    plan, notices = parse_plan(plans.encoded(document), "trt11.json")
    image, scores = plan.layers[0].inputs[0], plan.layers[0].outputs[0]
    assert plan.source_schema == "trt11"
    assert plan.io[0].is_shape_tensor
    assert (image.dtype.value, scores.dtype.value) == ("FP16", "FP32")
    assert (image.layout, scores.layout) != (None, None)
    assert notices == ()
