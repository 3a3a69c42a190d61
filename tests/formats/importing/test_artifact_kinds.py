import json
from pathlib import Path

import pytest

from enginescope.formats.importing import artifact_kinds
from enginescope.formats.importing.artifact_kinds import ArtifactKind, Item, recognise
from enginescope.formats.trtexec.trtexec_log import TrtexecLog
from enginescope.records.plan.build import ToolReport
from tests.formats import logs, plans, times


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
        (times.PROFILE, ArtifactKind.PROFILE),
        ({"layers": times.PROFILE}, ArtifactKind.PROFILE),
        ({"performance_summary": {"Latency": [1.0]}}, ArtifactKind.TREX_METADATA),
        ([{"Name": "GPU", "ComputeCapability": [8, 0]}], ArtifactKind.TREX_METADATA),
        (times.EVENTS, ArtifactKind.ORT_PROFILE),
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
    assert artifact_kinds.kind_of(text.encode(), "x.json") is ArtifactKind.TRTEXEC_LOG
    assert artifact_kinds.may_be_known(text.encode(), "x.json")


@pytest.mark.parametrize("data", [b"", b"hello", b"\x7fELF\x00\x01", b"ftrt\x00"])
def test_other_files(data) -> None:
    (found,) = recognise(data, "x")
    assert found.kind is ArtifactKind.UNKNOWN
    assert found.reason == "neither JSON nor a log of trtexec, TensorRT or Polygraphy"
    assert not artifact_kinds.may_be_known(data, "x")


def test_json_that_cannot_be_read() -> None:
    (found,) = recognise(b"{oops", "x")
    assert found.reason.startswith("not readable as JSON")
    plan = json.dumps(plans.tensorrt_8_4())
    (found,) = recognise(f"# Plan\n{{oops}}\n{plan}\n".encode(), "x.md")
    assert found.kind is ArtifactKind.PLAN


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("mobilenet.qat.onnx.engine.build.metadata.json", "mobilenet.qat"),
        ("mobilenet.qat.onnx.engine.graph.json", "mobilenet.qat"),
        ("resnet18_cudagraph.engine.profile.log", "resnet18_cudagraph"),
        ("alexnet_torch_tensorrt.engine_info.json", "alexnet_torch_tensorrt"),
        ("net-times.json", "net"),
        ("net_layer_info.json", "net"),
        ("out/my_model/times.json", "my_model"),
        ("out/my_model/trtexec_stdout.log", "my_model"),
        ("profile.json", "profile.json"),
        ("Graphics.json", "Graphics"),
    ],
)
def test_stems(path, stem) -> None:
    assert artifact_kinds.stem_of(Path(path)) == stem


def item(path: str, kind: ArtifactKind, command: str | None = None) -> Item:
    log = TrtexecLog(report=ToolReport(tool="trtexec", command=command))
    own = log if kind is ArtifactKind.TRTEXEC_LOG else None
    return Item(path=Path(path), kind=kind, sha256="0" * 64, size_bytes=1, log=own)


def names(*items: Item) -> list[tuple[str, list[str]]]:
    groups = artifact_kinds.group_items(items)
    return [(one.name, [each.path.name for each in one.items]) for one in groups]


def test_one_group_for_each_stem_and_folder() -> None:
    assert names(
        item("a/net.graph.json", ArtifactKind.PLAN),
        item("a/net.times.json", ArtifactKind.TIMES),
        item("b/net.times.json", ArtifactKind.TIMES),
        item("a/other.graph.json", ArtifactKind.PLAN),
    ) == [
        *(("net", ["net.graph.json", "net.times.json"]), ("net", ["net.times.json"])),
        ("other", ["other.graph.json"]),
    ]
    assert names(
        item("yolo/times.json", ArtifactKind.TIMES),
        item("yolo/profile.json", ArtifactKind.PROFILE),
        item("yolo/trtexec_stdout.log", ArtifactKind.TRTEXEC_LOG),
    ) == [("yolo", ["times.json", "profile.json", "trtexec_stdout.log"])]
    timed = item("d/net.times.json", ArtifactKind.TIMES)
    again = item("d/net_timing.json", ArtifactKind.TIMES)
    apart = [("net", ["net.times.json"]), ("net_timing.json", ["net_timing.json"])]
    assert names(timed, again) == apart
    other = item("d/net.profile.json", ArtifactKind.ORT_PROFILE)
    assert names(other, timed) == [("net", ["net.times.json"]), ("net", ["net.profile.json"])]


def test_a_log_takes_files_of_its_name_then_what_its_command_line_exported() -> None:
    command = 'trtexec --exportTimes=out/a1.json --exportProfile="C:\\x\\b2.json" --fp16'
    assert names(
        item("d/run7.log", ArtifactKind.TRTEXEC_LOG, command),
        item("d/a1.json", ArtifactKind.TIMES),
        item("d/b2.json", ArtifactKind.PROFILE),
        item("d/c3.json", ArtifactKind.PLAN),
    ) == [("run7", ["run7.log", "a1.json", "b2.json"]), ("c3", ["c3.json"])]
    assert names(
        item(
            "d/new.profile.log", ArtifactKind.TRTEXEC_LOG, "trtexec --exportTimes=old.timing.json"
        ),
        item("d/new.timing.json", ArtifactKind.TIMES),
        item("d/old.timing.json", ArtifactKind.TIMES),
    ) == [("new", ["new.profile.log", "new.timing.json"]), ("old", ["old.timing.json"])]


def test_exported_names() -> None:
    log = item("x.log", ArtifactKind.TRTEXEC_LOG, "trtexec --exportLayerInfo='a b.json'")
    assert list(artifact_kinds.exported_names(log)) == [(ArtifactKind.PLAN, "a b.json")]
    for one in (item("x.log", ArtifactKind.TRTEXEC_LOG), item("x.json", ArtifactKind.PLAN)):
        assert list(artifact_kinds.exported_names(one)) == []
