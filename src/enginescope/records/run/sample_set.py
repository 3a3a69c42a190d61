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

    Attributes:
        name: For people.
        data_set: A ``test_data_set_*`` folder.
    """

    name: str
    seed: int = 0
    data_set: str | None = None
    files: tuple[SampleFile, ...] = ()
    images: tuple[SampleFile, ...] = ()
    shapes: tuple[SampleShape, ...] = ()


#: Mean and deviation by name; ``imagenet``: those that most models for pictures were trained with.
NORMALIZATIONS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "plain": ((0.0,), (1.0,)),
    "signed": ((0.5,), (0.5,)),
}


class Preprocessing(Record, frozen=True, kw_only=True):
    """Conversion of an image to an input; the input determines the size.

    Attributes:
        fit: Both sides to the size; the shorter side to it and the middle of it; the longer side to
            it and the rest filled with 0.
        filter: Pillow's, which average where a picture gets smaller, or OpenCV's, which do not.
        layout: ``auto``: where the input's shape has 1, 3 or 4.
        divisor: Values 0…255 are divided by it.
        mean, std: Then the mean is taken off and the rest divided, channel by channel.
        size: Height and width, where the input leaves them open.
    """

    fit: Literal["stretch", "crop", "pad"] = "stretch"
    filter: PictureFilter = "bilinear"
    colours: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["auto", "nchw", "nhwc"] = "auto"
    divisor: float = 255.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    size: tuple[int, int] | None = None


class SkippedSample(Record, frozen=True, kw_only=True):
    """A sample whose files cannot be read, by its number, from 0, and the reason."""

    sample: int
    name: str
    why: str


class AnswerRequest(Record, frozen=True, kw_only=True):
    """What is to be answered, and where the outputs go.

    Attributes:
        samples: None: the model is only opened and says what it takes and gives.
        folder: Gets one file of outputs for each sample.
        inputs_folder: Gets one file of inputs for each sample.
        skips_unreadable: Skip samples whose files cannot be read; else the first of them is an
            error.
    """

    samples: tuple[Sample, ...] = ()
    folder: str
    inputs_folder: str | None = None
    skips_unreadable: bool = False
    preprocessing: Preprocessing = Preprocessing()
