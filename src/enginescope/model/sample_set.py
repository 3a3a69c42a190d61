"""Inputs to be answered one after another, and what becomes of images on the way."""

from __future__ import annotations

from typing import Literal, TypeAlias

from enginescope.core.record import Record

#: Of pictures that change their size.
PictureFilter: TypeAlias = Literal[
    "nearest", "bilinear", "bicubic", "opencv-bilinear", "opencv-bicubic"
]


class SampleFile(Record, frozen=True, kw_only=True):
    """Values, or a picture, for an input; `input` is ``None`` for the only one there is."""

    input: str | None
    path: str


class SampleShape(Record, frozen=True, kw_only=True):
    """The shape of an input in one sample."""

    input: str
    dims: tuple[int, ...]


class Sample(Record, frozen=True, kw_only=True):
    """One set of inputs. What nothing gives a value is random, from the seed.

    Attributes
    ----------
    name : str
        For people.
    seed : int
    data_set : str or None
        A ``test_data_set_*`` folder.
    files, images : tuple of SampleFile
    shapes : tuple of SampleShape
    """

    name: str
    seed: int = 0
    data_set: str | None = None
    files: tuple[SampleFile, ...] = ()
    images: tuple[SampleFile, ...] = ()
    shapes: tuple[SampleShape, ...] = ()


class Preprocessing(Record, frozen=True, kw_only=True):
    """What makes an input of a picture; the size is the input's own.

    Attributes
    ----------
    fit : {"stretch", "crop", "pad"}
        Both sides to the size; the shorter side to it and the middle of it; the longer side to it
        and the rest filled with 0.
    filter : {"nearest", "bilinear", "bicubic", "opencv-bilinear", "opencv-bicubic"}
        Pillow's, which average where a picture gets smaller, or OpenCV's, which do not.
    colours : {"rgb", "bgr"}
    layout : {"auto", "nchw", "nhwc"}
        ``auto``: where the input's shape has 1, 3 or 4.
    divisor : float
        Values 0…255 are divided by it.
    mean, std : tuple of float
        Then the mean is taken off and the rest divided, channel by channel.
    size : tuple of int or None
        Height and width, where the input leaves them open.
    """

    fit: Literal["stretch", "crop", "pad"] = "stretch"
    filter: PictureFilter = "bilinear"
    colours: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["auto", "nchw", "nhwc"] = "auto"
    divisor: float = 255.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    size: tuple[int, int] | None = None


class AnswerRequest(Record, frozen=True, kw_only=True):
    """What is to be answered, and where the answers go.

    Attributes
    ----------
    samples : tuple of Sample
        None: the model is only opened and says what it takes and gives.
    folder : str
        Gets one file of outputs for each sample.
    inputs_folder : str or None
        Gets one file of inputs for each sample.
    """

    samples: tuple[Sample, ...] = ()
    folder: str
    inputs_folder: str | None = None
    preprocessing: Preprocessing = Preprocessing()
