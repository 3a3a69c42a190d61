"""The verb ``archive``, and archives given to the verbs that read."""

import gzip
import io
import json
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.services.plans.import_artifacts import import_artifacts
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.store.archive import Store
from tests.cli.plans.conftest import ENGINE
from tests.fakes import models
from tests.fakes.driving import BATCHES, plan_of
from tests.formats import logs, plans
from tests.render.runs import imported_run, measured_run

READERS = ("explore", "lint", "report", "import")


@pytest.fixture
def folder(recorded: Path, without_plots, store, tmp_path) -> Path:
    """What ``process`` leaves, with an engine and a timing cache; works above it."""
    made = tmp_path / "out"
    shutil.copytree(recorded, made)
    (made / ENGINE).write_bytes(b"ftrt\x00\x01")
    (made / "timing.cache").write_bytes(b"\x00")
    return made


@pytest.fixture
def archive(folder, capsys) -> Path:
    assert main(["archive", "create", "net.tea", "out"]) == 0
    capsys.readouterr()
    return Path("net.tea")


def trex(fake=None) -> Path:
    """An archive as trex's EngineArchive writes it."""
    engine = plan_of(fake, models.perceptron(Path("net.onnx")), BATCHES) if fake else b"ftrt\x00"
    files = {
        "build.txt": "Applying generic optimizations\n",
        "engine.trt": engine,
        "build_cfg.json": json.dumps({"engine_build_duration": 3.5}),
        "plan_cfg.json": json.dumps({"name": "net", "num_layers": "2"}),
        "timing.cache": b"\x00",
    }
    return zipped(Path("trex.tea"), files)


def zipped(path: Path, files: dict[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return path


def test_everything_of_a_folder_with_what_it_is(folder, capsys) -> None:
    assert main(["archive", "create", "net.tea", "out"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "written: net.tea\n"
    assert "small_convnet · TensorRT 8.6.0 · NVIDIA H200" in shown.out
    for kind in ("engine", "plan", "trtexec_profile", "trtexec_times", "timing_cache"):
        assert kind in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert main(["archive", "list", "net.tea", "--json", "--check"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["changed"] == []
    names = {one["name"]: one["kind"] for one in told["files"]}
    assert set(names) == {one.name for one in folder.iterdir()}
    assert names[ENGINE] == "engine"
    (subject,) = told["manifest"]["subjects"]
    assert subject["devices"][0]["name"] == "NVIDIA H200"
    assert "--loadEngine" in subject["command"]


@pytest.mark.parametrize("verb", READERS)
def test_every_verb_reads_it_as_the_folder(archive, folder, verb, capsys) -> None:
    (folder / ENGINE).unlink()  # an engine has no part in a folder
    assert main([verb, "net.tea"]) in (0, 1)
    of_archive = capsys.readouterr()
    Store().delete("latest") if verb == "import" else None
    assert main([verb, "out"]) in (0, 1)
    of_folder = capsys.readouterr()
    strip = lambda text: [line for line in text.splitlines() if "  run " not in line]  # noqa: E731
    assert strip(of_archive.out) == strip(of_folder.out)
    assert "Traceback" not in of_archive.err
    assert "/tmp/" not in of_archive.out + of_archive.err


def test_archives_are_compared_and_findings_name_the_file_in_them(archive, capsys) -> None:
    assert main(["compare", "net.tea", "net.tea"]) == 0
    assert re.search(r"^ *A +small_convnet", capsys.readouterr().out, re.MULTILINE)
    assert main(["lint", "net.tea", "--json"]) in (0, 1)
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert plan["source"] == f"net.tea/{ENGINE}.graph.json"


def test_nothing_is_left_behind(archive, tmp_path, monkeypatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert main(["explore", "net.tea"]) == 0
    assert main(["import", "net.tea"]) == 0
    assert list(scratch.iterdir()) == []
    run = Store().load("latest")
    assert {one.kind for one in run.artifacts} >= {"plan", "trtexec_times", "trtexec_log"}
    assert len(Store().artifact_paths("latest")) == len(run.artifacts)


def test_a_run_with_all_its_files(folder, capsys) -> None:
    Store().save(measured_run())
    assert main(["archive", "create", "measured.tea", "latest"]) == 0
    assert main(["explore", "measured.tea"]) == 0
    assert "MatMul" in capsys.readouterr().out
    assert main(["lint", "measured.tea"]) == 2
    assert "measured.tea/runs/" in capsys.readouterr().err
    run = imported_run()
    Store().save(run, tags=("mine",))
    assert main(["archive", "create", "run.tea", "mine"]) == 0
    assert f"runs/{run.id}/" in capsys.readouterr().out
    other = folder.parent / "elsewhere"
    assert main(["import", "run.tea", "--store", str(other)]) == 0
    kept = Store(other).load(run.id)
    assert (kept.id, kept.created, kept.plan) == (run.id, run.created, run.plan)
    capsys.readouterr()
    assert main(["import", "run.tea", "--store", str(other)]) == 2
    assert "a run of this id exists" in capsys.readouterr().err
    assert main(["runs", "export", "mine", "run.zip"]) == 0
    for name in ("run.tea", "run.zip"):
        capsys.readouterr()
        assert main(["explore", name]) == 0
        assert "Slowest layers" in capsys.readouterr().out


def test_a_run_brings_its_engine_while_it_is_the_same(use, folder, capsys) -> None:
    fake = use()
    engine = Path("mine.engine")
    engine.write_bytes(plan_of(fake, models.perceptron(Path("net.onnx")), BATCHES))
    assert main(["bench", str(engine), "--iterations", "5", "--warmup", "0"]) == 0
    assert main(["archive", "create", "a.tea", "latest", "--json"]) == 0
    capsys.readouterr()
    assert main(["archive", "list", "a.tea", "--json"]) == 0
    kinds = {one["name"]: one["kind"] for one in json.loads(capsys.readouterr().out)["files"]}
    assert kinds["mine.engine"] == "engine"
    assert main(["archive", "create", "b.tea", "latest", "--without", "engine"]) == 0
    engine.write_bytes(b"ftrt another")
    assert main(["archive", "create", "c.tea", "latest"]) == 0
    for name in ("b.tea", "c.tea"):
        assert "mine.engine" not in names_in(name)


def test_trexs_archive_is_asked_of_tensorrt(use, folder, capfd) -> None:
    path = trex(use())
    assert main(["archive", "list", str(path), "--check"]) == 0
    shown = capfd.readouterr()
    assert "no manifest: written by trex" in shown.out
    assert "trex_build_configuration" in shown.out
    for verb in READERS:
        assert main([verb, str(path)]) == 0
        shown = capfd.readouterr()
        assert "asking TensorRT about trex.tea/engine.trt …" in shown.err
    assert Store().load("latest").plan is not None


@pytest.mark.parametrize("verb", READERS)
def test_trexs_archive_without_tensorrt(folder, verb, capsys, monkeypatch) -> None:
    path = trex()
    monkeypatch.setattr("enginescope.backends.tensorrt.libraries.is_installed", lambda _: False)
    assert main([verb, str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "TensorRT is not installed" in line


def test_times_do_without_the_engine(folder, capsys, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.backends.tensorrt.libraries.is_installed", lambda _: False)
    assert main(["archive", "create", "t.tea", f"out/{ENGINE}", f"out/{ENGINE}.profile.json"]) == 0
    capsys.readouterr()
    assert main(["explore", "t.tea"]) == 0
    shown = capsys.readouterr()
    assert "TensorRT is not installed" in shown.err
    assert "Slowest layers" in shown.out


def test_files_and_folders_together_without_hidden_ones_and_links(folder, capsys) -> None:
    Path("other").mkdir()
    Path("other/notes.txt").write_text("x")
    Path("alone.txt").write_text("y")
    assert main(["archive", "create", "net.tea", "out", "other", "alone.txt", "--json"]) == 0
    names = {one["name"] for one in json.loads(capsys.readouterr().out)["files"]}
    assert {f"out/{ENGINE}", "other/notes.txt", "alone.txt"} <= names
    (folder / ".secret").write_text("x")
    (folder / "link").symlink_to("/etc/passwd")
    assert main(["archive", "create", "out/net.tea", "out"]) == 0
    assert main(["archive", "create", "out/net.tea", "out", "--force"]) == 0
    assert not {".secret", "link", "net.tea"}.intersection(names_in("out/net.tea"))


def test_a_changed_file_is_told(archive, capsys) -> None:
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    zipped(archive, {**files, "timing.cache": b"changed", "later.txt": "x"})
    assert main(["archive", "list", "net.tea"]) == 0
    capsys.readouterr()
    assert main(["archive", "list", "net.tea", "--check"]) == 1
    shown = capsys.readouterr().err
    assert "differs from the manifest: timing.cache" in shown
    assert "not in the manifest: later.txt" in shown
    assert main(["archive", "extract", "net.tea"]) == 2


def test_several_engines_in_one(archive, folder, data, capsys) -> None:
    (folder / "second.graph.json").write_bytes((folder / f"{ENGINE}.graph.json").read_bytes())
    assert main(["archive", "create", "two.tea", "out"]) == 0
    capsys.readouterr()
    assert main(["explore", "two.tea"]) == 2
    shown = capsys.readouterr().err
    assert "two.tea holds 2 plans" in shown
    assert "enginescope archive extract two.tea" in shown
    assert main(["lint", "two.tea"]) in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "net.tea", "absent"], "absent"),
        (["create", "net.tea", "empty"], "to archive"),
        (["create", "out", "out"], "is a directory"),
        (["create", "no/such/net.tea", "out"], "cannot write no/such/net.tea"),
        (["create", f"out/{ENGINE}", f"out/{ENGINE}"], "a file that is read"),
        (["list", "absent.tea"], "does not exist"),
        (["list", f"out/{ENGINE}"], "File is not a zip file"),
        (["extract", "broken.tea"], "broken.tea"),
    ],
)
def test_what_cannot_be_done(folder, arguments, message, capsys) -> None:
    Path("empty").mkdir()
    Path("broken.tea").write_bytes(b"PK\x03\x04broken")
    assert main(["archive", *arguments]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_an_archive_is_not_overwritten_unasked_and_extracted_whole(archive, capsys, folder) -> None:
    before = archive.read_bytes()
    assert main(["archive", "create", "net.tea", "out"]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert archive.read_bytes() == before
    assert main(["archive", "extract", "net.tea"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert {Path(line).name for line in printed} == {one.name for one in folder.iterdir()}
    assert (Path("net") / ENGINE).read_bytes() == (folder / ENGINE).read_bytes()
    assert main(["archive", "extract", "net.tea"]) == 2
    assert "a file of this name exists" in capsys.readouterr().err
    assert main(["archive", "extract", "net.tea", "timing.cache", "-o", "one"]) == 0
    assert [one.name for one in Path("one").iterdir()] == ["timing.cache"]
    assert main(["archive", "extract", "net.tea", "timing.cach"]) == 2
    assert "did you mean timing.cache?; --output names a folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("content", [b"no zip", b"PK\x05\x06" + bytes(18)])
def test_a_broken_or_empty_archive(folder, verb, content, capsys) -> None:
    Path("net.tea").write_bytes(content)
    assert main([verb, "net.tea"]) == 2
    shown = capsys.readouterr().err
    assert "net.tea" in shown
    assert "Traceback" not in shown


def names_in(archive: str) -> list[str]:
    with zipfile.ZipFile(archive) as file:
        return sorted(one for one in file.namelist() if one != "manifest.json")


def test_a_plan_brings_what_is_read_beside_it(folder, capsys) -> None:
    plan = f"out/{ENGINE}.graph.json"
    assert main(["archive", "create", "net.tea", plan]) == 0
    said = capsys.readouterr().err
    taken = [one for one in names_in("net.tea") if one != f"{ENGINE}.graph.json"]
    assert {f"{ENGINE}.profile.json", f"{ENGINE}.timing.json"} <= set(taken)
    assert all(one in said for one in (*taken, "--only skips them"))
    assert main(["archive", "create", "only.tea", plan, "--only"]) == 0
    assert names_in("only.tea") == [f"{ENGINE}.graph.json"]
    assert "also added" not in capsys.readouterr().err
    # what is named or left out is not said to be added
    assert main(["archive", "create", "a.tea", plan, f"out/{ENGINE}.profile.json"]) == 0
    said = capsys.readouterr().err
    assert f"{ENGINE}.timing.json" in said
    assert f"{ENGINE}.profile.json" not in said
    assert names_in("a.tea").count(f"{ENGINE}.profile.json") == 1
    assert main(["archive", "create", "b.tea", plan, "--without", "trtexec_times"]) == 0
    assert f"{ENGINE}.timing.json" not in capsys.readouterr().err
    assert f"{ENGINE}.timing.json" not in names_in("b.tea")


LOG = f"{logs.PREFIX}Using random values for input x\n{logs.prefixed(logs.SUMMARY)}{logs.PASSED}"
PACKED = {
    "net.graph.json.gz": gzip.compress(plans.encoded(plans.tensorrt_11())),
    "other/net.log.gz": gzip.compress(LOG.encode()),
}


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz"])
def test_packed_files_in_an_archive_open(tmp_path, name) -> None:
    path = zipped(tmp_path / name, PACKED)
    if path.suffix != ".zip":
        with tarfile.open(path, "w:" if path.suffix == ".tar" else "w:gz") as made:
            for file, data in PACKED.items():
                member = tarfile.TarInfo(file)
                member.size = len(data)
                made.addfile(member, io.BytesIO(data))
    runs = [view.run for view in import_artifacts(path)]
    assert sum(run.plan is not None for run in runs) == 1
    assert sum(run.tool is not None for run in runs) == 1
    assert resolve_plan(path).plan.source_schema == "trt11"
