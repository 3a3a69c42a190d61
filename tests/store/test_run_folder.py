import json
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.sidecar import SEAL
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.run.job import BackendSpec, InputShape, Job, Subject, Workload
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind, Phase, Run
from enginescope.records.run.telemetry import Channel, Telemetry
from enginescope.records.tensor import DataType, Tensor
from enginescope.store import run_folder
from enginescope.store.run_folder import read_named, read_run, rewrite, scan, size_of, write_run
from enginescope.store.run_names import PART, run_names
from tests.store.stored_runs import DAMAGE, a_run, edit, plain

TEXT = st.text(max_size=12)
MAYBE = st.none() | TEXT
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
SIZE = st.integers(0, 2**53)
PAIRS = st.dictionaries(TEXT, TEXT, max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | SIZE | FLOAT | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
#: Arrays hold what no JSON can: NaN, infinities, and every bit of a float.
ARRAY = st.lists(st.floats(width=64), max_size=8).map(frozen)


def some(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(strategy, max_size=3).map(tuple)


SAMPLES = st.builds(
    Samples, metric=TEXT, values_ms=ARRAY, warmup_ms=st.none() | ARRAY, start_ms=st.none() | ARRAY
)
TENSOR = st.builds(
    Tensor,
    name=TEXT,
    shape=st.none() | some(st.none() | SIZE),
    dtype=st.none() | st.sampled_from(DataType),
)
PLAN = st.builds(
    Plan,
    name=TEXT,
    layers=some(
        st.builds(
            Layer,
            index=SIZE,
            name=TEXT,
            inputs=some(TENSOR),
            attributes=st.dictionaries(TEXT, JSON, max_size=3),
        )
    ),
)
PROFILE = st.builds(
    Profile,
    source=TEXT,
    layers=some(st.builds(LayerTiming, index=SIZE, name=TEXT, mean_ms=st.none() | FLOAT)),
    iterations=st.none() | SIZE,
)
RUN = st.builds(
    Run,
    id=st.from_regex(r"[0-9a-f]{6,12}", fullmatch=True),
    created=TEXT,
    origin=st.sampled_from(["measured", "imported"]),
    job=st.builds(
        Job,
        subject=st.builds(Subject, name=TEXT, path=MAYBE, size_bytes=st.none() | SIZE),
        backend=st.builds(BackendSpec, name=TEXT, precision=MAYBE, options=PAIRS),
        workload=st.builds(
            Workload,
            batch=st.none() | SIZE,
            shapes=some(st.builds(InputShape, name=TEXT, dims=some(SIZE))),
        ),
    ),
    outcome=st.builds(Outcome, kind=st.sampled_from(OutcomeKind), message=MAYBE, detail=MAYBE),
    environment=st.builds(
        Environment,
        host=st.builds(Host, name=MAYBE, load_1min=st.none() | FLOAT),
        devices=some(st.builds(Device, name=TEXT, driver=MAYBE)),
        versions=PAIRS,
        variables=PAIRS,
    ),
    command=MAYBE,
    phases=some(st.builds(Phase, name=TEXT, duration_ms=FLOAT)),
    samples=some(SAMPLES),
    profile=st.none() | PROFILE,
    plan=st.none() | PLAN,
    telemetry=st.none()
    | st.builds(
        Telemetry, time_ms=ARRAY, channels=some(st.builds(Channel, name=TEXT, values=ARRAY))
    ),
    peak_memory_bytes=st.none() | SIZE,
    notices=some(
        st.builds(Notice, code=TEXT, message=TEXT, evidence=st.dictionaries(TEXT, JSON, max_size=3))
    ),
    tags=some(TEXT),
)


@settings(max_examples=25, deadline=None)
@given(RUN)
def test_what_is_written_is_read(run) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        stored, found = write_run(run, folder), read_run(folder)
    # by repr, because no NaN equals another
    assert repr(plain(found)) == repr(plain(stored)) == repr(plain(run))
    arrays = [array for _, array in run_folder._series(found)]
    assert not any(array.flags.writeable for array in arrays)


def test_artefacts_are_copied_and_never_overwrite_each_other(tmp_path) -> None:
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        paths.append(tmp_path / name / "times.json")
        paths[-1].write_text(name)
    run = a_run(artifacts=tuple(Artifact(kind="times", path=str(path)) for path in paths))
    kept = write_run(run, tmp_path / "run").artifacts
    assert [one.path for one in kept] == ["artifacts/times.json", "artifacts/times-2.json"]
    assert [(tmp_path / "run" / one.path).read_text() for one in kept] == ["one", "two"]
    assert kept[0].size_bytes == 3
    assert kept[1].sha256 == "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"


def test_lost_artefacts_are_said_also_those_that_cannot_be_copied(tmp_path, monkeypatch) -> None:
    paths = ["gone", "", "a" * 5000, "\0"]
    run = a_run(artifacts=tuple(Artifact(kind="times", path=path) for path in paths))
    stored = write_run(run, tmp_path / "run", files_from=tmp_path)
    assert [one.code for one in stored.notices] == ["W-ARTIFACT-LOST"]
    assert stored.notices[0].evidence == {"paths": paths}
    assert stored.artifacts == run.artifacts
    (tmp_path / "log").write_text("log")

    def half(_, target):
        target.write_text("l")
        raise OSError("cannot read on")

    monkeypatch.setattr(run_folder.shutil, "copyfile", half)
    run = a_run(artifacts=(Artifact(kind="log", path="log"),))
    stored = write_run(run, tmp_path / "half", files_from=tmp_path)
    assert [one.code for one in stored.notices] == ["W-ARTIFACT-LOST"]
    assert list((tmp_path / "half/artifacts").iterdir()) == []


@pytest.mark.parametrize("damage", sorted(set(DAMAGE) - {"newer", "another id"}))
def test_damage_is_a_format_error_that_names_the_file(tmp_path, damage) -> None:
    write_run(a_run(), tmp_path)
    DAMAGE[damage](tmp_path)
    with pytest.raises(FormatError) as caught:
        read_run(tmp_path)
    assert str(tmp_path / "run.json") in str(caught.value)
    assert caught.value.why


def test_arrays_that_are_several(tmp_path) -> None:
    write_run(a_run(), tmp_path)
    np.savez(tmp_path / "many.npz", a=[1.0], b=[2.0])
    (tmp_path / "many.npz").replace(tmp_path / "arrays/000.npy")
    document = tmp_path / "run.json"
    text = re.sub(r',\s*"crc32": \d+', "", document.read_text())
    document.write_text(re.sub(r',\s*"record_crc32": "\w+"', "", text))
    with pytest.raises(FormatError, match="not a single array"):
        read_run(tmp_path)


def test_rewrite_leaves_what_it_does_not_know(tmp_path, monkeypatch) -> None:
    write_run(a_run(), tmp_path)
    edit(tmp_path, of_another="hand")
    before = json.loads((tmp_path / "run.json").read_text())
    assert rewrite(tmp_path, tags=("a", "b")).tags == ("a", "b")
    after = json.loads((tmp_path / "run.json").read_text())
    assert after.pop(SEAL)
    assert after == before | {"tags": ["a", "b"]}
    assert read_run(tmp_path).samples[0].values_ms.size == 11
    write_run(a_run(), tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_folder, "write_atomic", full)
    with pytest.raises(StoreError, match="No space left on device"):
        rewrite(tmp_path, tags=())


def test_the_size_of_a_folder(tmp_path, monkeypatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one").write_bytes(b"123")
    (tmp_path / "two").write_bytes(b"45")
    assert size_of(tmp_path) == 5

    def vanished(*_, **__):
        raise FileNotFoundError

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", vanished)
        size = size_of(tmp_path)
    assert size is None


def test_the_first_series_that_has_samples(tmp_path) -> None:
    series = [
        Samples(metric=metric, values_ms=frozen(values), warmup_ms=frozen([9.0]))
        for metric, values in (("h2d", [1.0]), ("gpu_compute", [2.0]), ("latency", []))
    ]
    write_run(a_run(samples=tuple(series)), tmp_path)
    wanted = {
        ("latency", "trtexec_latency", "gpu_compute"): ["gpu_compute"],
        ("h2d",): ["h2d"],
        ("latency",): ["latency"],
        ("d2h",): [],
    }
    for asked, metrics in wanted.items():
        run = read_run(tmp_path, series=asked)
        assert [one.metric for one in run.samples] == metrics
        assert all(one.warmup_ms is None for one in run.samples)


def test_names_of_folders_alone(tmp_path) -> None:
    for name in ("b", "a", ".part-1", ".deleted-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").write_text("")
    assert run_names(tmp_path) == ("a", "b")
    assert run_names(tmp_path, PART) == (".part-1",)
    assert run_names(tmp_path / "none") == ()
    with pytest.raises(StoreError, match="cannot read"):
        run_names(tmp_path / "notes.txt")


def test_good_and_broken(store) -> None:
    good, bad = store.save(a_run(id="aaa")), store.save(a_run(id="bbb"))
    DAMAGE["half"](bad)
    found = scan(store.runs_folder, ("aaa", "bbb", "gone"))
    assert [row.id for row in found.rows] == ["aaa"]
    assert found.rows[0].size_bytes == sum(
        one.stat().st_size for one in good.rglob("*") if one.is_file()
    )
    assert [one.name for one in found.broken] == ["bbb"]
    assert "not valid JSON" in found.broken[0].reason


def test_a_copied_folder_is_another_run_by_name(store) -> None:
    folder = store.save(a_run(id="aaa"))
    shutil.copytree(folder, folder.with_name("bbb"))
    with pytest.raises(FormatError, match="at id: it is 'aaa'") as caught:
        read_named(folder.with_name("bbb"))
    assert caught.value.expected == "'bbb'"


def test_a_run_that_vanishes_is_not_broken(store, monkeypatch) -> None:
    folder = store.save(a_run(id="aaa"))
    read = run_folder.read_run

    def vanish(path, **what):
        shutil.rmtree(path, ignore_errors=True)
        return read(path, **what)

    monkeypatch.setattr(run_folder, "read_run", vanish)
    assert scan(store.runs_folder, ("aaa",)).broken == ()
    with pytest.raises(StoreError, match="deleted while it was read"):
        read_named(folder)


def test_a_run_of_another_schema_is_refused(tmp_path) -> None:
    write_run(a_run(id="abc"), tmp_path)
    for version, kind, why in (
        *((version, FormatError, "no schema_version") for version in (None, "1", 1.5, True, [])),
        *((version, FormatError, f"there is no schema {version}") for version in (0, -1)),
        (9, StoreError, "schema 9, this enginescope reads up to 1"),
    ):
        edit(tmp_path, schema_version=version)
        before = (tmp_path / "run.json").read_bytes()
        for use in (read_run, lambda folder: rewrite(folder, tags=("new",))):
            with pytest.raises(kind, match=why):
                use(tmp_path)
        assert (tmp_path / "run.json").read_bytes() == before
