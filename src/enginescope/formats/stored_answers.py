"""Reference outputs that lie in files: of a data set, or one file a sample in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import FormatError
from enginescope.formats.answer_files import answer_file, read_answers, tensor_of
from enginescope.formats.tensor_files import load_data_set, load_tensor
from enginescope.model.sample_set import Sample
from enginescope.model.tensor_values import TensorValues


def has_expected(sample: Sample) -> bool:
    """Whether a sample is a data set with outputs beside its inputs."""
    return sample.data_set is not None and any(Path(sample.data_set).glob("output_*.pb"))


def expected_answers(sample: Sample, outputs: Sequence[str]) -> tuple[TensorValues, ...]:
    """Return the outputs in a sample's data set, by the model's names.

    Raises
    ------
    FormatError
        The folder or a file cannot be read, or belongs to no output.
    """
    arrays = load_data_set(Path(sample.data_set or ""), outputs, role="output")
    return tuple(tensor_of(name, array) for name, array in arrays.items())


def stored_answers(
    folder: Path, number: int, sample: Sample, outputs: Sequence[str]
) -> tuple[TensorValues, ...]:
    """Return a sample's outputs from a folder: by the sample's name, else by its number.

    ``NAME.npz`` holds arrays by output; ``NAME.npy`` the only output.

    Raises
    ------
    FormatError
        There is no file for it, or it cannot be read.
    """
    for stem in (sample.name, Path(sample.name).stem):
        found = folder / f"{stem}.npz"
        if stem and found.is_file():
            return read_answers(found)
        found = folder / f"{stem}.npy"
        if stem and found.is_file() and len(outputs) == 1:
            return (tensor_of(outputs[0], load_tensor(found)),)
    numbered = answer_file(folder, number)
    if numbered.is_file():
        return read_answers(numbered)
    raise FormatError(
        str(folder),
        why=f"it holds no outputs of sample {number} ({sample.name})",
        expected=f"{sample.name}.npz, or {numbered.name}",
    )
