from pathlib import Path

import pytest

from enginescope.formats.importing.artifact_kinds import (
    ArtifactKind,
    Item,
    exported_names,
    group_items,
    stem_of,
)
from enginescope.formats.trtexec.trtexec_log import TrtexecLog
from enginescope.records.plan.build import ToolReport


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
    assert stem_of(Path(path)) == stem


def item(path: str, kind: ArtifactKind, command: str | None = None) -> Item:
    is_log = kind is ArtifactKind.TRTEXEC_LOG
    report = ToolReport(tool="trtexec", command=command)
    log = TrtexecLog(report=report) if is_log else None
    return Item(path=Path(path), kind=kind, sha256="0" * 64, size_bytes=1, log=log)


def names(*items: Item) -> list[tuple[str, list[str]]]:
    return [(one.name, [each.path.name for each in one.items]) for one in group_items(items)]


def test_one_group_for_each_stem_and_folder() -> None:
    assert names(
        item("a/net.graph.json", ArtifactKind.PLAN),
        item("a/net.times.json", ArtifactKind.TIMES),
        item("b/net.times.json", ArtifactKind.TIMES),
        item("a/other.graph.json", ArtifactKind.PLAN),
    ) == [
        ("net", ["net.graph.json", "net.times.json"]),
        ("net", ["net.times.json"]),
        ("other", ["other.graph.json"]),
    ]
    assert names(
        item("yolo/times.json", ArtifactKind.TIMES),
        item("yolo/profile.json", ArtifactKind.PROFILE),
        item("yolo/trtexec_stdout.log", ArtifactKind.TRTEXEC_LOG),
    ) == [("yolo", ["times.json", "profile.json", "trtexec_stdout.log"])]
    assert names(
        item("d/net.times.json", ArtifactKind.TIMES), item("d/net_timing.json", ArtifactKind.TIMES)
    ) == [("net", ["net.times.json"]), ("net_timing.json", ["net_timing.json"])]
    assert names(
        item("d/net.profile.json", ArtifactKind.ORT_PROFILE),
        item("d/net.times.json", ArtifactKind.TIMES),
    ) == [("net", ["net.times.json"]), ("net", ["net.profile.json"])]


def test_a_log_takes_files_of_its_name_then_what_its_command_line_exported() -> None:
    command = 'trtexec --exportTimes=out/a1.json --exportProfile="C:\\x\\b2.json" --fp16'
    assert names(
        item("d/run7.log", ArtifactKind.TRTEXEC_LOG, command),
        item("d/a1.json", ArtifactKind.TIMES),
        item("d/b2.json", ArtifactKind.PROFILE),
        item("d/c3.json", ArtifactKind.PLAN),
    ) == [("run7", ["run7.log", "a1.json", "b2.json"]), ("c3", ["c3.json"])]
    command = "trtexec --exportTimes=old.timing.json"
    assert names(
        item("d/new.profile.log", ArtifactKind.TRTEXEC_LOG, command),
        item("d/new.timing.json", ArtifactKind.TIMES),
        item("d/old.timing.json", ArtifactKind.TIMES),
    ) == [("new", ["new.profile.log", "new.timing.json"]), ("old", ["old.timing.json"])]


def test_exported_names() -> None:
    log = item("x.log", ArtifactKind.TRTEXEC_LOG, "trtexec --exportLayerInfo='a b.json'")
    assert list(exported_names(log)) == [(ArtifactKind.PLAN, "a b.json")]
    assert list(exported_names(item("x.log", ArtifactKind.TRTEXEC_LOG))) == []
    assert list(exported_names(item("x.json", ArtifactKind.PLAN))) == []
