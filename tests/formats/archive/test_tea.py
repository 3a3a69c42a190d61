"""Archives: written, read back, damaged, and as trex writes them."""

import hashlib
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.archive import engine_archive
from enginescope.formats.archive.engine_archive import (
    MANIFEST,
    SCHEMA,
    check_tea,
    extract_tea,
    read_tea,
    tea_file,
    write_tea,
)
from enginescope.records.environment import Device
from tests.formats import plans

CONTENT = {
    "net.engine": ("engine", b"ftrt" + bytes(range(256)) * 8),
    "net.graph.json": ("plan", plans.encoded(plans.tensorrt_8_4())),
    "net.build.log": ("trtexec_log", b"[01/02/2024-10:00:00] [I] === Build Options ===\n"),
    "timing.cache": ("timing_cache", b"\x00\x01\x02"),
    "notes.txt": ("other", b"hello"),
    "own.log": ("log", b"free text"),
}
KINDS = {name: kind for name, (kind, _) in CONTENT.items()}
FILES = {name: data for name, (_, data) in CONTENT.items()}


@pytest.fixture
def archive(tmp_path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    found = [tea_file(folder / name, name) for name in FILES]
    subject = engine_archive.TeaSubject(
        name="net", versions={"tensorrt": "10.4"}, devices=(Device(name="H200"),)
    )
    write_tea(tmp_path / "net.tea", found, [subject])
    return tmp_path / "net.tea"


def rewritten(archive: Path, change) -> Path:
    """The same archive with its files changed, the checksums of the zip file sound."""
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    change(files)
    with zipfile.ZipFile(archive, "w") as new:
        for name, data in files.items():
            new.writestr(name, data)
    return archive


def test_the_manifest_says_what_every_file_is(archive, tmp_path) -> None:
    contents = read_tea(archive)
    assert contents.manifest.subjects[0].devices[0].name == "H200"
    assert {one.name: one.kind for one in contents.entries} == KINDS
    for one in contents.entries:
        assert one.size_bytes == len(FILES[one.name])
        assert one.sha256 == hashlib.sha256(FILES[one.name]).hexdigest()
    assert check_tea(archive) == ()
    written = extract_tea(archive, tmp_path / "out")
    assert {one.name: one.read_bytes() for one in written} == FILES
    with zipfile.ZipFile(archive) as packed:
        assert packed.testzip() is None
        assert json.loads(packed.read(MANIFEST))["schema"] == SCHEMA
        methods = {one.filename: one.compress_type for one in packed.infolist()}
    assert methods["net.engine"] == zipfile.ZIP_STORED
    assert methods["net.graph.json"] == zipfile.ZIP_DEFLATED


@pytest.mark.parametrize("name", ["runs/0123/times.json", "runs/0123/notes.txt", "runs/a.cache"])
def test_all_files_below_runs_belong_to_a_run(name) -> None:
    assert engine_archive.kind_by_name(name, b"[]") == "run"
    assert engine_archive.kind_by_name(f"other/{name}", b"[]") != "run"


def test_some_of_the_files(archive, tmp_path) -> None:
    (only,) = extract_tea(archive, tmp_path / "out", lambda one: one.kind == "plan")
    assert only.name == "net.graph.json"
    assert list((tmp_path / "out").iterdir()) == [only]


def test_nothing_is_overwritten(archive, tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="a file of this name exists"):
        extract_tea(archive, tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_changed_file_is_not_what_the_manifest_says(archive, tmp_path) -> None:
    rewritten(archive, lambda files: files.update({"notes.txt": b"other"}))
    assert check_tea(archive) == ("notes.txt",)
    with pytest.raises(FormatError, match=r"notes\.txt: it differs from the manifest"):
        extract_tea(archive, tmp_path / "out")
    assert not (tmp_path / "out" / "notes.txt").exists()


def manifest(**fields: object) -> dict[str, bytes]:
    return {MANIFEST: json.dumps({"format": "enginescope-archive", **fields}).encode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("notes.txt"), r"notes\.txt: the manifest has it, the archive not"),
        (lambda f: f.update(manifest(schema=SCHEMA + 1)), f"its schema is {SCHEMA + 1}"),
        (lambda f: f.update(manifest(schema=1, files=3)), MANIFEST),
    ],
    ids=["a missing file", "a newer enginescope", "a damaged manifest"],
)
def test_what_the_manifest_contradicts_is_refused(archive, change, message) -> None:
    rewritten(archive, change)
    with pytest.raises(FormatError, match=message):
        read_tea(archive)


def test_a_file_that_was_put_in_later_is_named(archive) -> None:
    rewritten(archive, lambda files: files.update({"later.txt": b"x"}))
    contents = read_tea(archive)
    assert (contents.unlisted, contents.entries[-1].kind) == (("later.txt",), "other")
    assert contents.entries[-1].sha256 is None


@pytest.mark.parametrize("data", [b"", b"[]", b'{"manifest": 1}', b"\xff", b"[" * 100_000])
def test_a_manifest_of_something_else_is_a_file_like_others(archive, data) -> None:
    assert engine_archive.parse_manifest(data, "net.tea") is None
    rewritten(archive, lambda files: files.update({MANIFEST: data}))
    contents = read_tea(archive)
    assert contents.manifest is None
    assert MANIFEST in {one.name for one in contents.entries}
    assert all(one.sha256 is None for one in contents.entries)


def test_as_trex_writes_it(tmp_path) -> None:
    """trex's EngineArchive: engine.trt, build.txt, two configurations, the timing cache."""
    path = tmp_path / "net.tea"
    engine_facts = {"name": "net", "num_layers": "2", "io_tensors": {"x": {"mode": "INPUT"}}}
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        made.writestr("build.txt", "Applying generic optimizations\n")
        made.writestr("engine.trt", b"ftrt\x00\x01")
        made.writestr("build_cfg.json", json.dumps({"engine_build_duration": 3.5}, indent=4))
        made.writestr("plan_cfg.json", json.dumps(engine_facts, indent=4))
        made.writestr("timing.cache", b"\x00")
    contents = read_tea(path)
    assert contents.manifest is None
    assert {(one.name, one.kind) for one in contents.entries} == {
        *(("build.txt", "build_log"), ("engine.trt", "engine"), ("timing.cache", "timing_cache")),
        ("build_cfg.json", "trex_build_configuration"),
        ("plan_cfg.json", "trex_engine_configuration"),
    }
    assert len(extract_tea(path, tmp_path / "out")) == 5
    assert check_tea(path) == ()


def test_two_files_of_one_name(tmp_path) -> None:
    (tmp_path / "a").write_text("1")
    files = [tea_file(tmp_path / "a", "x"), tea_file(tmp_path / "a", "x")]
    with pytest.raises(UsageError, match="the same name in the archive: x"):
        write_tea(tmp_path / "net.tea", files)
    with pytest.raises(UsageError, match=r"its own manifest\.json"):
        write_tea(tmp_path / "net.tea", [tea_file(tmp_path / "a", MANIFEST)])
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_what_cannot_be_written_leaves_nothing(tmp_path) -> None:
    (tmp_path / "a").write_text("1")
    files = [tea_file(tmp_path / "a", "a")]
    with pytest.raises(UsageError, match="cannot write"):
        write_tea(tmp_path / "no" / "net.tea", files)
    (tmp_path / "a").unlink()
    with pytest.raises(UsageError, match="cannot write"):
        write_tea(tmp_path / "net.tea", files)
    assert list(tmp_path.iterdir()) == []


def test_there_must_be_space(archive, tmp_path, monkeypatch) -> None:
    usage = "enginescope.formats.archive.engine_archive.shutil.disk_usage"
    monkeypatch.setattr(usage, lambda _: SimpleNamespace(free=10))
    with pytest.raises(UsageError, match="10 are free"):
        extract_tea(archive, tmp_path / "deep" / "out")
