"""The bundle that an upgrade leaves as its evidence: runs, inputs and outputs, written and read."""

import hashlib
import math
import os
import shutil
from collections.abc import Sequence
from functools import partial
from os import fspath
from pathlib import Path

from enginescope.analysis.upgrade.reproduced import output_hash, reproduced_outputs
from enginescope.analysis.upgrade.rows import output_gap
from enginescope.core.errors import FormatError, UsageError, reason_of
from enginescope.core.jsonio import decode, encode, read_bytes, sha256_of, write_atomic
from enginescope.core.record import Record, copied, replace
from enginescope.formats.archive.engine_archive import (
    MANIFEST,
    RUNS,
    FolderArchive,
    check_folder,
    write_manifest,
)
from enginescope.formats.onnx.onnx_precision import external_files
from enginescope.formats.tensors.tensor_files import read_answers, write_answers
from enginescope.records.run.run import Run, TensorValues
from enginescope.records.run.sample_set import Sample
from enginescope.records.verdict import upgrade
from enginescope.runner.inputs.sample_feeds import data_sets_beside
from enginescope.services.accuracy.sides import Side
from enginescope.services.accuracy.validation_run import ValidationRun
from enginescope.services.declared import File
from enginescope.services.plans.archive import subjects_of
from enginescope.services.store_access import place_of
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.verdicts.run_selection import runs_in_folder
from enginescope.store.archive import Store
from enginescope.store.run_folder import write_run

#: Values of a model's outputs are kept up to this size; of larger ones hashes and errors.
MOST_BYTES = 64 << 20
#: The document of a bundle, and the folders of outputs, of models and samples.
DOCUMENT = "evidence.json"
OUTPUTS = "outputs"
_INPUTS = "inputs"
#: Part of a model that fails alone.
REDUCED = "reduced"
_OF_BUNDLE = frozenset({DOCUMENT, OUTPUTS, REDUCED, _INPUTS, RUNS, MANIFEST})


class Evidence(Record, frozen=True, kw_only=True, eq=False):
    """A bundle whose files are those of its manifest."""

    folder: Path
    archive: FolderArchive
    bundle: upgrade.EvidenceBundle

    def sides(self) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        """Return the runs of the old and of the new stack."""
        runs = {run.id: run for run in runs_in_folder(self.folder, _refuse)}
        models = self.bundle.report.models
        old, new = (
            tuple(runs[run_id] for ids in side for run_id in ids)
            for side in ([model.old for model in models], [model.new for model in models])
        )
        return old, new


def _refuse(text: str) -> None:
    raise FormatError("a bundle of evidence", why=text)


def check_evidence_folder(evidence: File, *, continues: bool = False) -> None:
    """Raise `UsageError` if a bundle cannot be written there, before anything is measured.

    A bundle that is there is removed if the upgrade that it is of goes on (`continues`).
    """
    folder = Path(evidence)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir()}
        if continues and DOCUMENT in names and names <= _OF_BUNDLE:
            for name in names:
                path = folder / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            names = set()
    except OSError as error:
        raise UsageError(f"cannot write {folder}", why=reason_of(error)) from error
    if names:
        raise UsageError(f"cannot write {folder}", why="it is not empty", hint="a new folder")


class EvidenceWriter:
    """Writes the bundle of an upgrade into its folder, as far as the upgrade has come.

    `kept` writes the outputs of each model as soon as they are known.
    """

    def __init__(self, request: UpgradeRequest) -> None:
        assert request.evidence is not None
        self._folder, self._store = Path(request.evidence), Store(place_of(request.store))
        self._settings = _settings(request)
        self._copies_to = None if request.without_inputs else self._folder
        self._inputs: tuple[upgrade.BundledInput, ...] | None = None
        self.kept = KeptOutputs(self._folder, 0 if request.without_inputs else MOST_BYTES)

    def write(self, report: upgrade.UpgradeReport) -> None:
        """Write the document, which has the verdicts so far."""
        if self._inputs is None:
            self._inputs = tuple(
                _bundled(Path(path), self._copies_to, number)
                for number, path in enumerate(_paths(self._settings))
            )
        models = self.kept.models
        if models:
            models = [*models, *[None] * (len(report.models) - len(models))]
        bundle = upgrade.EvidenceBundle(
            settings=self._settings, inputs=self._inputs, report=report, outputs=tuple(models)
        )
        write_atomic(self._folder / DOCUMENT, encode(bundle))

    def finish(self, report: upgrade.UpgradeReport, runs: Sequence[Run]) -> FolderArchive:
        """Write the runs of both stacks and the document; the manifest comes last."""
        try:
            for run in runs:
                kept_in = self._store.folder_of_id(run.id) if self._store.has(run.id) else None
                write_run(run, self._folder / RUNS / run.id, files_from=kept_in)
            self.write(report)
            subjects = {encode(subject): subject for subject in subjects_of(runs)}
            return write_manifest(self._folder, tuple(subjects.values()))
        except OSError as error:
            raise UsageError(f"cannot write {self._folder}", why=reason_of(error)) from error


def read_evidence(folder: Path) -> Evidence:
    """Return what a bundle says; `FormatError`: no bundle, or a file was changed, lost or added."""
    if not is_bundle(folder):
        why = f"it has no {DOCUMENT}" if folder.is_dir() else "no such folder"
        hint = "enginescope upgrade … --evidence DIR writes one"
        raise FormatError(str(folder), why=why, hint=hint)
    archive = check_folder(folder)
    source = folder / DOCUMENT
    bundle = decode(read_bytes(source), upgrade.EvidenceBundle, source=str(source))
    if bundle.schema > upgrade.BUNDLE_SCHEMA:
        why = f"its schema is {bundle.schema}, this enginescope knows {upgrade.BUNDLE_SCHEMA}"
        raise FormatError(str(source), why=why, expected="an older one; upgrade")
    if bundle.outputs and len(bundle.outputs) != len(bundle.report.models):
        why = f"it has outputs of {len(bundle.outputs)} models"
        raise FormatError(str(source), why=why, expected=str(len(bundle.report.models)))
    return Evidence(folder=folder, archive=archive, bundle=bundle)


def is_bundle(folder: Path) -> bool:
    return (folder / DOCUMENT).is_file()


def side_of_bundle(name: str) -> tuple[Path, str] | None:
    """Split ``BUNDLE@old``; the side is empty for a bundle alone. ``None``: not of a bundle."""
    path, _, side = name.rpartition("@")
    if side in ("old", "new") and is_bundle(Path(path)):
        return Path(path), side
    return (Path(name), "") if is_bundle(Path(name)) else None


def recorded_side(name: str) -> tuple[Run, ...] | None:
    """Return the runs of ``BUNDLE@old`` or ``BUNDLE@new``; ``None``: it does not name a bundle.

    They have no name of a stack: their counterparts are runs of any stack.
    """
    named = side_of_bundle(name)
    if named is None:
        return None
    folder, side = named
    if not side:
        why = "it has the runs of two stacks"
        raise UsageError(f"side {name}", why=why, hint=f"{name}@old or {name}@new")
    old, new = read_evidence(folder).sides()
    return tuple(
        replace(run, job=replace(run.job, backend=replace(run.job.backend, environment=None)))
        for run in (old if side == "old" else new)
    )


def places_of(evidence: Evidence) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return where the inputs are now, by their recorded path, and what is missing."""
    places: dict[str, str] = {}
    missing: list[str] = []
    for source in evidence.bundle.inputs:
        recorded = Path(source.path)
        if source.place is not None:
            place = evidence.folder / source.place
            check_inside(place, evidence.folder)
            places[source.path] = str(place)
            continue
        places[source.path] = source.path
        missing += [
            f"{recorded.parent / name} is not the recorded file"
            for name, sha256 in source.files.items()
            if not (recorded.parent / name).is_file() or sha256_of(recorded.parent / name) != sha256
        ]
    return places, tuple(missing)


def check_inside(path: Path, folder: Path, *, is_inside: bool = True) -> None:
    """Raise `FormatError` if a path that a bundle names is not on its side of the bundle's wall."""
    if path.resolve().is_relative_to(folder.resolve()) is not is_inside:
        where = "outside" if is_inside else "inside"
        raise FormatError(str(folder / DOCUMENT), why=f"it names {path}, {where} the bundle")


def _settings(request: UpgradeRequest) -> upgrade.UpgradeSettings:
    reference = request.reference
    if reference is not None:
        reference = _whole(reference) if Path(reference).exists() else fspath(reference)
    files = tuple(replace(file, path=_whole(file.path)) for file in request.workload.files)
    return copied(
        upgrade.UpgradeSettings,
        request,
        models=tuple(map(_whole, request.models)),
        reference=reference,
        data=tuple(map(_whole, request.data)),
        backends=request.backends,
        process_limits=request.limits,
        workload=replace(request.workload, files=files),
    )


def _whole(path: File) -> str:
    """Return a whole path; a link keeps its name, which names the model."""
    return os.path.abspath(path)  # noqa: PTH100


def _paths(settings: upgrade.UpgradeSettings) -> tuple[str, ...]:
    reference = settings.reference
    paths = [*settings.models, *settings.data, *(file.path for file in settings.workload.files)]
    if reference and Path(reference).is_absolute():
        paths.append(reference)
    return tuple(dict.fromkeys(paths))


def _bundled(path: Path, folder: Path | None, number: int) -> upgrade.BundledInput:
    """Return an input with its hashes; with a folder, copy its files there."""
    files = _files_of(path)
    top = f"{_INPUTS}/{number}/{path.parent.name or 'root'}"  # a folder may be part of the name
    if folder is not None:
        for name, file in files.items():
            target = folder / top / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    return upgrade.BundledInput(
        path=str(path),
        place=f"{top}/{path.name}" if folder is not None else None,
        files={name: sha256_of(file) for name, file in files.items()},
    )


def _files_of(path: Path) -> dict[str, Path]:
    """Return the files of an input by their path below its folder.

    A model brings the files of its weights and the data sets beside it.
    """
    if path.is_dir():
        return _below(path)
    files = {path.name: path}
    if path.suffix.lower() == ".onnx":
        files |= {name: path.parent / name for name in external_files(str(path))}
        for data_set in data_sets_beside(path):
            files |= _below(data_set)
    return files


def _below(folder: Path) -> dict[str, Path]:
    return {
        f"{folder.name}/{file.relative_to(folder).as_posix()}": file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


class KeptOutputs:
    """Outputs of models, one after another; equal outputs of a sample are one file in ``outputs``.

    Of a model whose values are above `most_bytes`, hashes and errors alone are kept; of one that
    returned no outputs, ``None``.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self.models: list[upgrade.BundledOutputs | None] = []

    def start_model(self) -> None:
        """Add the next model, without outputs yet."""
        self.models.append(None)

    def keep(
        self, model: str, run: ValidationRun, sides: Sequence[Side], samples: Sequence[Sample]
    ) -> None:
        """Keep the outputs of the model started last, the reference's first; skip sides without."""
        reference, *others = sides
        answered = [reference, *(side for side in others if run.has_answers(side.label))]
        skipped = {one.sample for one in run.skipped}
        by_label: dict[str, list[upgrade.BundledSample]] = {side.label: [] for side in answered}
        sizes: dict[str, int] = {}
        for number, sample in enumerate(samples):
            if number in skipped:
                continue
            expected = run.answers_of(reference.label, number)
            for side in answered:
                outputs = run.answers_of(side.label, number)
                base = None if side is reference else expected
                tensors = tuple(_bundled_tensor(tensor, base) for tensor in outputs)
                place = self._place(outputs, tensors, sizes)
                kept = upgrade.BundledSample(sample=sample.name, tensors=tensors, place=place)
                by_label[side.label].append(kept)
        size = sum(sizes.values())
        if size > self._most_bytes:
            for bundled in by_label.values():
                bundled[:] = [replace(sample, place=None) for sample in bundled]
            for place in sizes:
                (self.folder / place).unlink(missing_ok=True)
        stacks = {side.label: side.job.backend.environment for side in others if side.job}
        processes = tuple(
            upgrade.BundledProcess(stack=stacks.get(label), samples=tuple(samples))
            for label, samples in by_label.items()
        )
        self.models[-1] = upgrade.BundledOutputs(model=model, processes=processes, size_bytes=size)

    def _place(
        self,
        outputs: Sequence[TensorValues],
        tensors: Sequence[upgrade.BundledTensor],
        sizes: dict[str, int],
    ) -> str:
        text = " ".join(f"{tensor.name} {tensor.sha256}" for tensor in tensors)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        place = f"{OUTPUTS}/{len(self.models) - 1}/{digest}.npz"
        if place not in sizes:
            sizes[place] = sum(int(tensor.data.nbytes) for tensor in outputs)
            if sum(sizes.values()) <= self._most_bytes:
                path = self.folder / place
                path.parent.mkdir(parents=True, exist_ok=True)
                write_answers(path, outputs)
        return place


def _bundled_tensor(
    tensor: TensorValues, expected: Sequence[TensorValues] | None
) -> upgrade.BundledTensor:
    same = [each for each in expected or () if each.name == tensor.name]
    gap = output_gap(same, [tensor])
    error = None if math.isinf(gap) else gap
    return upgrade.BundledTensor(name=tensor.name, sha256=output_hash(tensor), max_abs_error=error)


def compare_with_bundle(
    evidence: Evidence, again: KeptOutputs
) -> tuple[upgrade.ReproducedOutputs | None, ...]:
    """Return for each model which outputs are not as recorded; ``None``: there are none."""
    readers = partial(_read, evidence.folder), partial(_read, again.folder)
    recorded = evidence.bundle.outputs or (None,) * len(again.models)
    return tuple(
        reproduced_outputs(before, after, *readers) if before and after else None
        for before, after in zip(recorded, again.models, strict=True)
    )


def _read(folder: Path, sample: upgrade.BundledSample) -> tuple[TensorValues, ...] | None:
    if sample.place is None:
        return None
    path = folder / sample.place
    check_inside(path, folder)
    return read_answers(path)
