import json
import re
import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest

import enginescope as es
from enginescope.analysis.upgrade.reproduced import reproduced_outputs
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import decode, encode
from enginescope.core.record import replace
from enginescope.formats.archive.engine_archive import MANIFEST, write_manifest
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.sample_set import Sample, SkippedSample
from enginescope.records.verdict.upgrade import (
    Agreement,
    BundledOutputs,
    EvidenceBundle,
    OutputReason,
    ReproducedOutputs,
    UpgradeKind,
)
from enginescope.render.html.answer_page import written_json
from enginescope.render.reproduction.reproduction_answer import change_of_output, scope_facts
from enginescope.render.verdicts.upgrade_answer import upgrade_answer
from enginescope.services.accuracy.sides import Side
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.upgrade import stacks
from enginescope.services.upgrade.evidence import (
    DOCUMENT,
    EvidenceWriter,
    KeptOutputs,
    _read,
    compare_with_bundle,
    read_evidence,
)
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.services.upgrade.upgrade import UpgradeRequest, check_upgrade
from tests.one_way.verdicts import pair, processes
from tests.plants.in_process import workers_in_process
from tests.services.upgrade.test_search import Stoppable
from tests.services.upgrade.test_upgrade import NEW, plant_outputs, planted, upgraded

pytestmark = pytest.mark.filterwarnings("ignore")
__all__ = ["planted"]


@pytest.fixture
def model(convnet, tmp_path) -> Path:
    return Path(shutil.copy(convnet, tmp_path / "net.onnx"))


def again(bundle: Path, folder: Path, **more):
    with workers_in_process():
        return es.reproduce(bundle, store=folder / "again", **more)


def quick(model: Path, folder: Path, **more):
    """Write a bundle of a backend without outputs, so that no process has to return any."""
    return upgraded(model, folder, on="fake", rounds=8, evidence=folder / "bundle", **more)


def test_a_verdict_is_reproduced_unless_outputs_vary(model, tmp_path, planted, monkeypatch) -> None:
    planted(slowdown=1.05)
    bundle = tmp_path / "bundle"
    report = upgraded(model, tmp_path, evidence=bundle)
    model.unlink()  # the bundle has it
    planted(seed=1, slowdown=1.05)
    result = again(bundle, tmp_path)
    both = (written_json(upgrade_answer(one)) for one in (result.recorded, report))
    recorded, now = map(json.loads, both)
    assert recorded == now
    assert result.is_reproduced
    (net,) = result.models
    latency = next(row for row in net.rows if row.metric == "latency")
    assert latency.agreement is Agreement.SAME
    assert latency.recorded.kind is latency.again.kind is UpgradeKind.WORSE
    assert latency.recorded.verdict.estimate.interval != latency.again.verdict.estimate.interval
    assert latency.again.verdict.evidence is EvidenceLevel.INTERLEAVED
    assert not result.environment
    (kept,) = read_evidence(bundle).bundle.outputs
    assert len(list((bundle / "outputs").rglob("*.npz"))) == 2  # equal bits of a sample: one file
    assert [process.stack for process in kept.processes] == [None, "old", "old", "new", "new"]
    assert {tensor.max_abs_error for tensor in kept.processes[-1].samples[0].tensors} == {0.0}
    assert net.outputs == ReproducedOutputs(compared=6)
    assert dict(scope_facts(result))["outputs"] == "6 outputs, every bit as recorded"
    assert result.sha256 == read_evidence(bundle).archive.sha256
    plant_outputs(monkeypatch, lambda stack, data: data + 1 if stack == NEW else data)
    result = again(bundle, tmp_path)
    assert result.is_reproduced is False
    changes = result.models[0].outputs.changes
    assert {(one.stack, one.reason, one.was_repeatable) for one in changes} == {
        ("new", OutputReason.VALUES, True)
    }
    assert [(one.gap, one.recorded_error, one.error) for one in changes] == [
        (pytest.approx(1, rel=1e-3), 0, pytest.approx(1, rel=1e-3))
    ] * 2
    outputs, latency, *_ = result.models[0].rows
    assert (outputs.agreement, latency.agreement) == (Agreement.DIFFERENT, Agreement.INCONCLUSIVE)


def test_a_changed_version_is_named(model, tmp_path, planted, monkeypatch) -> None:
    planted()
    quick(model, tmp_path)
    usual = stacks.environment_fingerprint
    monkeypatch.setattr(stacks, "environment_fingerprint", lambda: usual() | {"numpy": "99"})
    changes = again(tmp_path / "bundle", tmp_path).environment
    assert {(one.stack, one.name, one.again) for one in changes} == {
        ("old", "numpy", "99"),
        ("new", "numpy", "99"),
    }


def test_a_place_in_use_is_refused_at_the_start(model, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    monkeypatch.setattr(StackRunner, "collect_outputs", None)
    for name in ("file", "folder"):
        with pytest.raises(UsageError, match="cannot write"):
            upgraded(model, tmp_path, evidence=tmp_path / name)
    with pytest.raises(UsageError, match="without `evidence` there is no bundle"):
        upgraded(model, tmp_path, without_inputs=True)


def test_what_is_in_a_bundle_and_hashes_in_place_of_inputs(model, tmp_path, planted) -> None:
    planted()
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "x.npy", np.ones(3, np.float32))
    bundle = tmp_path / "bundle"
    report = quick(model, tmp_path, data=[data])
    names = {entry.name for entry in read_evidence(bundle).archive.manifest.files}
    assert f"inputs/0/{model.parent.name}/{model.name}" in names
    assert f"inputs/1/{tmp_path.name}/data/x.npy" in names
    runs = (*report.models[0].old, *report.models[0].new)
    assert {f"runs/{run}/run.json" for run in runs} <= names
    subjects = read_evidence(bundle).archive.manifest.subjects
    assert all("onnxruntime" in one.versions or one.versions == {} for one in subjects)
    (data / "x.npy").unlink()
    assert again(bundle, tmp_path).again is not None
    planted()
    bundle = tmp_path / "hashes" / "bundle"
    quick(model, bundle.parent, without_inputs=True)
    assert not (bundle / "inputs").exists()
    assert again(bundle, tmp_path).again is not None
    model.write_bytes(model.read_bytes() + b"\0")
    with pytest.raises(UsageError, match=f"{model.name} is not the recorded file"):
        again(bundle, tmp_path)


def test_all_that_is_missing_is_named(model, tmp_path, planted) -> None:
    planted()
    quick(model, tmp_path, without_inputs=True)
    model.unlink()
    with pytest.raises(UsageError, match=f"/no/python.*{model.name}"):
        again(tmp_path / "bundle", tmp_path, old="/no/python")
    found = es.reproduce(tmp_path / "bundle", check_only=True)
    assert (found.again, found.is_reproduced) == (None, None)


def test_external_weights_are_inputs(model, tmp_path, planted) -> None:
    planted()
    large = tmp_path / "large" / "large.onnx"
    large.parent.mkdir()
    more = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
    onnx.save(onnx.load(model), large, **more)
    quick(large, tmp_path)
    (source,) = read_evidence(tmp_path / "bundle").bundle.inputs
    assert set(source.files) == {"large.onnx", "weights.bin"}
    assert (tmp_path / "bundle" / source.place).with_name("weights.bin").is_file()


def recorded(prepare, folder: Path, old: str, new: str) -> Path:
    prepare(folder)
    es.upgrade(old=old, new=new, store=folder / "store", evidence=folder / "bundle")
    return folder / "bundle"


def test_recorded_runs_are_judged_again_from_the_bundle(tmp_path, model) -> None:
    """Such a bundle is a side, and no stack of models."""
    (tmp_path / "pair").mkdir()
    bundle = recorded(pair, tmp_path / "pair", "a", "b")
    result = es.reproduce(bundle, store=tmp_path / "empty")
    assert result.is_reproduced
    assert result.again.models == result.recorded.models
    with pytest.raises(UsageError, match="no stacks that can run again"):
        es.reproduce(bundle, old=sys.executable)
    with pytest.raises(UsageError, match="its runs are recorded"):
        es.upgrade(model, old=f"{bundle}@old", new=sys.executable)
    bundle = recorded(processes, tmp_path, "before", "after")
    store = tmp_path / "store"
    report = es.upgrade(old=f"{bundle}@old", new="after", store=store)
    assert report.models == es.upgrade(old="before", new="after", store=store).models
    with pytest.raises(UsageError, match="two stacks"):
        es.upgrade(old=bundle, new="after", store=store)


def test_each_file_of_outputs_is_checked(model, tmp_path, planted) -> None:
    planted()
    bundle = tmp_path / "bundle"
    upgraded(model, tmp_path, rounds=8, evidence=bundle)
    for file in (bundle / "outputs").rglob("*.npz"):
        data = file.read_bytes()
        for place in (0, len(data) // 2, len(data) - 1):
            file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            with pytest.raises(FormatError, match=f"{file.name} was changed"):
                es.reproduce(bundle, check_only=True)
        file.write_bytes(data)
    evidence = read_evidence(bundle)
    document = (bundle / DOCUMENT).read_bytes()
    hostile = decode(document.replace(b"outputs/0/", b"../outputs/"), EvidenceBundle, source="")
    again = KeptOutputs(tmp_path)
    other = re.sub(rb'("sha256": ?")', rb"\1other bits ", encode(hostile.outputs))
    again.models = list(decode(other, tuple[BundledOutputs, ...], source=""))
    with pytest.raises(FormatError, match="outside the bundle"):
        compare_with_bundle(replace(evidence, bundle=hostile), again)


def test_what_a_hostile_bundle_names_is_not_touched(model, tmp_path, planted) -> None:
    planted()
    quick(model, tmp_path)
    bundle = tmp_path / "bundle"
    evidence = read_evidence(bundle).bundle
    (source,) = evidence.inputs
    python = replace(evidence.report.old, python=str(bundle / source.place))
    for change in (
        {"inputs": (replace(source, place="../net.onnx"),)},
        {"report": replace(evidence.report, old=python)},
    ):
        (bundle / DOCUMENT).write_bytes(encode(replace(evidence, **change)))
        write_manifest(bundle)
        with pytest.raises(FormatError, match="side the bundle"):
            again(bundle, tmp_path)


def test_a_damaged_bundle_is_no_side_and_a_whole_one_is_read_back(tmp_path) -> None:
    bundle = recorded(pair, tmp_path, "a", "b")
    document = bundle / DOCUMENT
    document.write_text(document.read_text().replace("1.2", "1.1"))
    for call in (
        lambda: es.reproduce(bundle),
        lambda: es.upgrade(old=f"{bundle}@old", new="b", store=tmp_path / "store"),
    ):
        with pytest.raises(FormatError, match=f"{DOCUMENT} was changed"):
            call()
    (tmp_path / MANIFEST).write_text("{}")
    for folder, why in ((tmp_path, f"it has no {DOCUMENT}"), (tmp_path / "x", "no such folder")):
        with pytest.raises(FormatError, match=why):
            es.reproduce(folder)
    (tmp_path / "whole").mkdir()
    evidence = read_evidence(recorded(pair, tmp_path / "whole", "a", "b")).bundle
    assert decode(encode(evidence), EvidenceBundle, source="") == evidence


def test_an_interrupt_while_evidence_is_written_takes_nothing_away(tmp_path, monkeypatch) -> None:
    finish = EvidenceWriter.finish

    def interrupted(self, *given) -> None:
        signal.raise_signal(signal.SIGINT)
        finish(self, *given)

    monkeypatch.setattr(EvidenceWriter, "finish", interrupted)
    processes(tmp_path)
    bundle, store = tmp_path / "bundle", tmp_path / "store"
    request = UpgradeRequest(models=(), old="before", new="after", store=store, evidence=bundle)
    report = check_upgrade(request, observer := Stoppable())
    assert isinstance(observer.interruption, KeyboardInterrupt)
    assert es.reproduce(bundle, check_only=True).recorded.models == report.models
    with pytest.raises(KeyboardInterrupt):
        check_upgrade(replace(request, evidence=tmp_path / "again"), MeasurementObserver())
    assert (tmp_path / "again" / "evidence.json").is_file()


SAMPLES = (Sample(name="a"), Sample(name="b"))


def kept(folder: Path, *values, most_bytes: int = 1 << 20, skipped=()) -> BundledOutputs:
    """Keep outputs ``y`` of a reference of zeros and of one process of ``new`` for each value."""
    outputs = {"reference": np.zeros(3, np.float32)}
    sides = [Side(label="reference", folder="expected")]
    backend = BackendSpec(name="ort-cpu", environment="new")
    for number, value in enumerate(values):
        job = Job(subject=Subject(name="net.onnx"), backend=backend)
        sides.append(Side(label=f"#{number}", job=job))
        outputs[f"#{number}"] = np.asarray(value)
    run = SimpleNamespace(
        skipped=skipped,
        has_answers=lambda label: outputs[label].size,
        answers_of=lambda label, _sample: (tensor_of("y", outputs[label]),),
    )
    keeper = KeptOutputs(folder, most_bytes)
    keeper.start_model()
    keeper.keep("net.onnx", run, sides, SAMPLES)
    return keeper.models[0]


def ones(value: float) -> np.ndarray:
    return np.full(3, value, np.float32)


def changes(tmp_path, before, after, **more):
    folders = tmp_path / "a", tmp_path / "b"
    outputs = kept(folders[0], *before, **more), kept(folders[1], *after)
    return reproduced_outputs(*outputs, *(partial(_read, folder) for folder in folders))


def test_equal_outputs_are_one_file_and_large_ones_have_hashes(tmp_path) -> None:
    found = kept(tmp_path, ones(0), ones(1))
    assert found.size_bytes == 24
    places = {sample.place for process in found.processes for sample in process.samples}
    assert places == {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.npz")}
    assert len(places) == 2
    tensors = [process.samples[0].tensors[0] for process in found.processes]
    assert [tensor.max_abs_error for tensor in tensors] == [None, 0.0, 1.0]
    found = kept(tmp_path, ones(0), skipped=(SkippedSample(sample=0, name="a", why="damaged"),))
    assert [[one.sample for one in process.samples] for process in found.processes] == [["b"]] * 2
    assert not changes(tmp_path, [ones(1), ones(2)], [ones(2), ones(3)]).changes
    large = tmp_path / "large"
    found = changes(large, [ones(1)], [ones(2)], most_bytes=23)
    assert not list((large / "a").rglob("*.npz"))
    change = found.changes[0]
    assert (change.reason, change.gap) == (OutputReason.HASHES, None)
    assert (change.recorded_error, change.error) == (1.0, 2.0)
    assert "has another hash, error 1 → 2" in change_of_output(change)
    assert not changes(large, [ones(1)], [ones(1)], most_bytes=0).changes


@pytest.mark.parametrize(
    ("before", "after", "reason", "gap", "text"),
    [
        ([ones(0.5)], [ones(0.75)], OutputReason.VALUES, 0.25, "differs by 0.25, error 0.5 → 0.75"),
        ([ones(0.5), ones(1)], [ones(0.75), ones(1.125)], OutputReason.VALUES, 0.125, "as its"),
        ([ones(0.0)], [ones(-0.0)], OutputReason.VALUES, 0.0, "differs in bits alone"),
        ([ones(0.5)], [np.zeros(4, np.float32)], OutputReason.KIND, None, "differs in type"),
        ([ones(0.5)], [ones(np.nan)], OutputReason.KIND, None, "differs in type"),
        ([ones(0.5)], [np.zeros(0)], OutputReason.MISSING, None, "is missing"),
    ],
)
def test_outputs_that_are_not_as_recorded(tmp_path, before, after, reason, gap, text) -> None:
    found = changes(tmp_path, before, after)
    assert found.compared == 4
    assert [(one.stack, one.sample, one.reason, one.gap) for one in found.changes] == [
        ("new", "a", reason, gap),
        ("new", "b", reason, gap),
    ]
    assert text in change_of_output(found.changes[0])
    assert change_of_output(found.changes[0]).startswith("y of a on new ")
