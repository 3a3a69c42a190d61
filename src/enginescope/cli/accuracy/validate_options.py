"""Parameter types of ``validate``, and what becomes of pictures."""

import math
from typing import Any, get_args

import click

from enginescope.analysis.errors.output_tolerance import ToleranceOption, parse_tolerance
from enginescope.cli.options import ABOVE_0, Parsed, add_options, option, parse_shape
from enginescope.core.errors import UsageError
from enginescope.records.run.job import InputShape
from enginescope.records.run.sample_set import NORMALIZATIONS, PictureFilter, Preprocessing
from enginescope.services.accuracy.request import MOST_PIXELS

FILTERS: tuple[str, ...] = get_args(PictureFilter)
_ALL_PCT = 100


def parse_wide_shape(text: str) -> InputShape:
    """Return ``NAME:1x3x224x224`` or ``NAME:1,3,224,224``."""
    name, colon, dims = text.rpartition(":")
    return parse_shape(f"{name}{colon}{dims.replace(',', 'x')}")


def parse_pair(text: str) -> tuple[str, str]:
    """Return ``OUTPUT=REFERENCE``: an output of a side, and the reference's output."""
    name, _, reference = text.partition("=")
    if not name or not reference:
        raise UsageError(f"{text!r} is not OUTPUT=REFERENCE", hint="as in output_0=logits")
    return name, reference


def parse_numbers(text: str) -> tuple[float, ...]:
    """Return ``0.485,0.456,0.406``."""
    try:
        found = tuple(float(one) for one in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(map(math.isfinite, found)):
        raise UsageError(f"{text!r} is not a list of numbers", hint="as in 0.485,0.456,0.406")
    return found


def parse_divisors(text: str) -> tuple[float, ...]:
    """Return ``0.229,0.224,0.225``, none of them 0."""
    found = parse_numbers(text)
    if 0 in found:
        raise UsageError(f"{text!r}", why="a divisor cannot be 0")
    return found


def parse_percentage(text: str) -> ToleranceOption:
    """Return ``1`` or ``NAME:1``, of up to 100 percent."""
    found = parse_tolerance(text)
    if found.value > _ALL_PCT:
        raise UsageError(f"{text!r} is more than {_ALL_PCT} %")
    return found


def parse_size(text: str) -> tuple[int, int]:
    """Return ``HEIGHTxWIDTH``."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(one.isdecimal() and int(one) > 0 for one in parts):
        raise UsageError(f"{text!r} is not HEIGHTxWIDTH", hint="as in 480x640")
    height, width = int(parts[0]), int(parts[1])
    if max(height, width) > MOST_PIXELS:
        raise UsageError(f"{text!r} is too large", hint=f"at most {MOST_PIXELS:,} a side")
    return height, width


TOLERANCE = Parsed("[OUTPUT:]NUMBER", parse_tolerance)
PERCENTAGE = Parsed("[OUTPUT:]PERCENT", parse_percentage)
WIDE_SHAPE = Parsed("NAME:DIMS", parse_wide_shape)
NUMBERS = Parsed("A,B,C", parse_numbers)
DIVISORS = Parsed("A,B,C", parse_divisors)
PIXELS = Parsed("HxW", parse_size)


#: Add what makes inputs of pictures.
image_options = add_options(
    option(
        "--image-size size", "Resize images to this size if the model's input is dynamic.", PIXELS
    ),
    option(
        "--image-fit fit",
        "Fit images to the input by stretching, cropping or padding.",
        click.Choice(["stretch", "crop", "pad"]),
    ),
    option(
        "--image-filter filter",
        "Resize images with this filter of Pillow or OpenCV.",
        click.Choice(FILTERS),
    ),
    option(
        "--image-colors,--image-colours colours",
        "Channel order of image inputs.",
        click.Choice(["rgb", "bgr"]),
    ),
    option("--layout", "Memory layout of image inputs.", click.Choice(["nchw", "nhwc"])),
    option(
        "--normalize,--normalise normalise",
        "Normalize images: 0…1, −1…1, or ImageNet mean and deviation.",
        click.Choice(list(NORMALIZATIONS)),
        default="plain",
    ),
    option("--image-divisor divisor", "Divide pixel values by this number.", ABOVE_0),
    option("--image-mean mean", "Subtract this mean from each channel.", NUMBERS),
    option("--image-std std", "Divide each channel by this deviation.", DIVISORS),
)


def preprocessing_of(options: dict[str, Any]) -> Preprocessing:
    """Return what the options say of pictures."""
    fields = dict(zip(("mean", "std"), NORMALIZATIONS[options["normalise"]], strict=True))
    named = {name: options[name] for name in Preprocessing.__struct_fields__}
    return Preprocessing(**fields | {name: value for name, value in named.items() if value})
