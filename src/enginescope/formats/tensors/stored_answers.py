"""Reference outputs that lie in files: of a data set, or by sample in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import read_bytes
from enginescope.formats.lenient_json import read_json
from enginescope.formats.tensors.answer_files import answer_file, read_answers, tensor_of
from enginescope.formats.tensors.exported_outputs import is_outputs, outputs_of
from enginescope.formats.tensors.tensor_files import load_data_set, load_tensor
from enginescope.records.run.sample_set import Sample
from enginescope.records.run.tensor_values import TensorValues

#: Files with one array, which is the only output's, or the output's that the file is named like.
_ARRAYS = (".npy", ".pb")


def has_expected(sample: Sample) -> bool:
    """Whether a sample is a data set with outputs beside its inputs."""
    return sample.data_set is not None and _has_outputs(Path(sample.data_set))


def expected_answers(sample: Sample, outputs: Sequence[str]) -> tuple[TensorValues, ...]:
    """Return the outputs in a sample's data set, by the model's names.

    Raises:
        FormatError: The folder or a file cannot be read, or belongs to no output.
    """
    return _of_data_set(Path(sample.data_set or ""), outputs)


def stored_answers(
    folder: Path, number: int, sample: Sample, outputs: Sequence[str]
) -> tuple[TensorValues, ...]:
    """Return a sample's outputs from a folder: by the sample's name, else by its number.

    ``NAME.npz`` holds arrays by output, ``NAME.npy`` and ``NAME.pb`` the only output, ``NAME.json``
    what ``trtexec --exportOutput`` wrote; a folder ``NAME`` holds ``output_*.pb``, or
    ``OUTPUT.npy`` and ``OUTPUT.pb``. ``000000.npz`` and on are numbered.

    Raises:
        FormatError: There is no file for it, or it cannot be read.
    """
    for stem in dict.fromkeys((sample.name, Path(sample.name).stem)):
        found = _named(folder, stem, outputs) if stem else None
        if found is not None:
            return found
    numbered = answer_file(folder, number)
    if numbered.is_file():
        return read_answers(numbered)
    if number == 0 and _has_outputs(folder):
        return _of_data_set(folder, outputs)
    wanted = dict.fromkeys((f"{Path(sample.name).stem}.npz", numbered.name))
    raise FormatError(
        str(folder),
        why=f"it holds no outputs of sample {number} ({sample.name})",
        expected=", or ".join(wanted),
    )


def _named(folder: Path, stem: str, outputs: Sequence[str]) -> tuple[TensorValues, ...] | None:
    if (folder / f"{stem}.npz").is_file():
        return read_answers(folder / f"{stem}.npz")
    for suffix in _ARRAYS if len(outputs) == 1 else ():
        found = folder / f"{stem}{suffix}"
        if found.is_file():
            return (tensor_of(outputs[0], load_tensor(found)),)
    exported = folder / f"{stem}.json"
    if exported.is_file():
        return _exported(exported)
    return _of_folder(folder / stem, outputs) if (folder / stem).is_dir() else None


def _exported(path: Path) -> tuple[TensorValues, ...]:
    document = read_json(read_bytes(path), str(path))
    if not is_outputs(document.value):
        raise FormatError(str(path), why="no outputs", expected="what trtexec --exportOutput wrote")
    return outputs_of(document)[0]


def _of_folder(folder: Path, outputs: Sequence[str]) -> tuple[TensorValues, ...] | None:
    if _has_outputs(folder):
        return _of_data_set(folder, outputs)
    by_name = {one.stem: one for one in folder.iterdir() if one.suffix in _ARRAYS}
    found = [tensor_of(name, load_tensor(by_name[name])) for name in outputs if name in by_name]
    return tuple(found) or None


def _of_data_set(folder: Path, outputs: Sequence[str]) -> tuple[TensorValues, ...]:
    arrays = load_data_set(folder, outputs, role="output")
    return tuple(tensor_of(name, array) for name, array in arrays.items())


def _has_outputs(folder: Path) -> bool:
    return any(folder.glob("output_*.pb"))
