import os
import stat
import zipfile
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.records.run.run import Artifact
from enginescope.store import run_folder
from enginescope.store.archive import Store, load_path
from tests.store.stored_runs import DAMAGE, a_run, edit, plain


@pytest.fixture
def exported(store, tmp_path) -> Path:
    (tmp_path / "log").write_text("log")
    store.save(a_run(id="abc", artifacts=(Artifact(kind="log", path=str(tmp_path / "log")),)))
    return store.export("abc", tmp_path / "out.zip")


def test_an_exported_run_comes_back_whole_under_its_name(store, exported, tmp_path) -> None:
    other = Store(tmp_path / "other")
    run = other.import_zip(exported)
    assert plain(other.load("abc")) == plain(run) == plain(store.load("abc"))
    assert other.artifact_paths("abc")[0].read_text() == "log"
    assert [row.id for row in other.rows()] == ["abc"]
    with pytest.raises(StoreError, match="a run of this id exists"):
        other.import_zip(exported)
    assert [one.name for one in other.runs_folder.iterdir()] == ["abc"]
    with zipfile.ZipFile(exported, "a") as packed:
        packed.writestr("abc/", "")  # the folder itself is no harm
        packed.extractall(tmp_path / "elsewhere")
    assert Store(tmp_path / "third").import_zip(exported).id == "abc"
    assert load_path(tmp_path / "elsewhere/abc").id == "abc"
    assert store.export("abc", tmp_path / "v1.2").name == "v1.2.zip"
    with pytest.raises(StoreError, match="a file of this name exists"):
        store.export("abc", exported)
    with pytest.raises(StoreError, match="cannot write"):
        store.export("abc", tmp_path / "none" / "out.zip")
    with pytest.raises(StoreError, match="cannot write"):
        store.export("abc", exported / "in-a-file.zip")
    assert sorted(one.name for one in tmp_path.iterdir() if one.suffix == ".zip") == [
        "out.zip",
        "v1.2.zip",
    ]


def test_links_are_not_followed_and_a_run_that_vanishes_is_not_exported(
    store, exported, tmp_path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (store.folder_of("abc") / "artifacts" / "link").symlink_to(tmp_path / "secret")
    with zipfile.ZipFile(store.export("abc", tmp_path / "two.zip")) as packed:
        assert not [name for name in packed.namelist() if "link" in name]
    folder = store.folder_of("abc")
    store.delete("abc")
    with pytest.raises(StoreError, match=r"it has no run\.json"):
        run_folder.pack(folder, tmp_path / "three.zip")
    assert not (tmp_path / "three.zip").exists()


@pytest.mark.parametrize(
    "name", ["../evil", "abc/../../evil", "/tmp/evil", "abc\\..\\evil", "def/second-top", "evil"]
)
def test_no_path_leads_out(exported, tmp_path, name) -> None:
    with zipfile.ZipFile(exported, "a") as packed:
        packed.writestr(name, "evil")
    other = Store(tmp_path / "deep" / "deeper" / "other")
    with pytest.raises(FormatError):
        other.import_zip(exported)
    assert not list(tmp_path.rglob("evil"))
    assert list(other.runs_folder.iterdir()) == []


def test_no_link_is_made_and_the_id_inside_cannot_lead_out(exported, tmp_path) -> None:
    with zipfile.ZipFile(exported, "a") as packed:
        link = zipfile.ZipInfo("abc/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    with pytest.raises(FormatError, match="abc/link: a link"):
        Store(tmp_path / "other").import_zip(exported)
    folder = Store(tmp_path / "source").save(a_run(id="abc"))
    edit(folder, id="../../evil")
    made = run_folder.pack(folder, tmp_path / "made.zip")
    with pytest.raises(StoreError, match="run id"):
        Store(tmp_path / "other").import_zip(made)
    assert not list(tmp_path.rglob("evil"))


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[60:90] = bytes(30)
    file.write_bytes(bytes(data))


def _twice(file: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(file, "a") as packed:
        packed.writestr("abc/run.json", "{}")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: os.truncate(file, file.stat().st_size // 2),
        _flip,
        lambda file: zipfile.ZipFile(file, "w").writestr("abc/other.json", "{}"),
        _twice,
        Path.unlink,
        lambda file: file.write_bytes(b""),
        lambda file: zipfile.ZipFile(file, "w").close(),
    ],
    ids=["cut", "flipped", "no document", "twice", "gone", "empty", "no files"],
)
def test_damaged_files(exported, tmp_path, spoil) -> None:
    spoil(exported)
    other = Store(tmp_path / "other")
    with pytest.raises(FormatError) as caught:
        other.import_zip(exported)
    assert "out.zip" in str(caught.value)
    assert list(other.runs_folder.iterdir()) == []


@pytest.mark.parametrize("damage", ["half", "no array", "newer"])
def test_a_broken_run_is_not_taken_in(store, tmp_path, damage) -> None:
    DAMAGE[damage](store.save(a_run(id="abc")))
    exported = store.export("abc", tmp_path / "out.zip")
    other = Store(tmp_path / "other")
    with pytest.raises((FormatError, StoreError), match=r"out\.zip"):
        other.import_zip(exported)
    assert other.rows() == ()


def test_no_space(exported, tmp_path, monkeypatch) -> None:
    class Full:
        free = 10

    monkeypatch.setattr(run_folder.shutil, "disk_usage", lambda _: Full)
    with pytest.raises(StoreError, match="10 are free"):
        Store(tmp_path / "other").import_zip(exported)
