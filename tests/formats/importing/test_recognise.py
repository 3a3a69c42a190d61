import json

import pytest

from enginescope.formats.importing.artifact_kinds import (
    ArtifactKind,
    kind_of,
    may_be_known,
    recognise,
)
from tests.formats import logs, plans, times

PROFILE = [{"count": 1}, {"name": "a", "timeMs": 1, "averageMs": 1}]
EVENTS = [{"cat": "Session", "name": "model_run", "dur": 1, "ts": 0}]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (plans.tensorrt_8_4(), ArtifactKind.PLAN),
        (plans.tensorrt_11(), ArtifactKind.PLAN),
        (plans.names_only(), ArtifactKind.PLAN),
        (plans.tensorrt_8_4()["Layers"], ArtifactKind.PLAN),
        (times.records(3), ArtifactKind.TIMES),
        ({"times": [1.0]}, ArtifactKind.TIMES),
        ([1.0, 2.0], ArtifactKind.TIMES),
        (PROFILE, ArtifactKind.PROFILE),
        ({"layers": PROFILE}, ArtifactKind.PROFILE),
        ({"performance_summary": {"Latency": [1.0]}}, ArtifactKind.TREX_METADATA),
        ([{"Name": "GPU", "ComputeCapability": [8, 0]}], ArtifactKind.TREX_METADATA),
        (EVENTS, ArtifactKind.ORT_PROFILE),
        ({}, ArtifactKind.UNKNOWN),
        ([], ArtifactKind.UNKNOWN),
        ({"package": "x", "total": [1, 2]}, ArtifactKind.UNKNOWN),
        ([{"id": 1}], ArtifactKind.UNKNOWN),
        ({"times": []}, ArtifactKind.UNKNOWN),
    ],
)
def test_json_by_content(value, kind) -> None:
    (found,) = recognise(json.dumps(value).encode(), "whatever.txt")
    assert found.kind is kind
    assert (found.document is not None) == (kind is not ArtifactKind.UNKNOWN)


@pytest.mark.parametrize(
    "text", [logs.OPTIONS_10, logs.prefixed(logs.SUMMARY), "wrapper says hi\n" + logs.PASSED]
)
def test_logs(text) -> None:
    assert kind_of(text.encode(), "x.json") is ArtifactKind.TRTEXEC_LOG
    assert may_be_known(text.encode(), "x.json")


@pytest.mark.parametrize("data", [b"", b"hello", b"\x7fELF\x00\x01", b"ftrt\x00"])
def test_other_files(data) -> None:
    (found,) = recognise(data, "x")
    assert (found.kind, found.reason) == (
        ArtifactKind.UNKNOWN,
        "neither JSON nor a log of trtexec, TensorRT or Polygraphy",
    )
    assert not may_be_known(data, "x")


def test_json_that_cannot_be_read() -> None:
    (found,) = recognise(b"{oops", "x")
    assert found.reason.startswith("not readable as JSON")
