"""Depth of every pixel of a picture.

Figures as Eigen, Puhrsch and Fergus define them ("Depth Map Prediction from a Single Image using a
Multi-Scale Deep Network", 2014), of the pixels whose target is known and within bounds. Their paper
sums over all pixels of the set; benchmarks since (KITTI's Eigen split as Godard and others evaluate
it, NYU Depth V2, MiDaS) take each picture's figures and average those. That mean is stated; the
figures over all pixels are kept beside it.

Median scaling: Zhou and others, "Unsupervised Learning of Depth and Ego-Motion from Video", 2017.
Scale and shift in the space of disparity: Ranftl and others, "Towards Robust Monocular Depth
Estimation", 2020.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from enginescope.analysis.tasks.base import (
    SampleScore,
    Scorer,
    Targets,
    TaskMetric,
    TaskScores,
    options_as,
)
from enginescope.analysis.tasks.box_outputs import first_maps
from enginescope.analysis.tasks.depth_agreement import AGREEMENT, DepthAgreement
from enginescope.analysis.tasks.segmentation import bilinear
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.formats.tensors.target_files import MAP_SUFFIXES, FolderTargets, load_map
from enginescope.judge.notice import Notice
from enginescope.judge.stats.autocorrelation import student_quantile
from enginescope.records.run.run import TensorValues

METRICS: tuple[TaskMetric, ...] = (
    TaskMetric(name="abs_rel", title="AbsRel", better="lower"),
    TaskMetric(name="sq_rel", title="SqRel", better="lower"),
    TaskMetric(name="rmse", title="RMSE", better="lower"),
    TaskMetric(name="rmse_log", title="RMSE log", better="lower"),
    TaskMetric(name="d1", title="δ1", better="higher"),
    TaskMetric(name="d2", title="δ2", better="higher"),
    TaskMetric(name="d3", title="δ3", better="higher"),
)


class DepthOptions(Record, frozen=True, kw_only=True):
    """What has to be known of outputs and targets.

    Attributes:
        output: Which; ``None``: the first that is a map.
        holds: Whether the model's values grow with distance, or with nearness.
        align: What is done to a prediction, picture by picture, before it is compared with its
            target.
        scale: What a file's values are multiplied by: 0.001 for millimetres, 1/256 for KITTI's PNG.
        min_depth, max_depth: Targets outside are not known; predictions are cut off there.
    """

    output: str | None = None
    holds: Literal["depth", "disparity"] = "depth"
    align: Literal["median", "scale-shift", "none"] = "median"
    scale: float = 1.0
    min_depth: float = 1e-3
    max_depth: float | None = None


class DepthTask:
    """The task ``depth``; a `Task`."""

    name = "depth"
    title = "Depth"
    metrics = METRICS
    agreement_metrics = AGREEMENT
    averaged = "means over the images; the files have the means over all pixels"
    agreement_averaged = (
        "means over the images, each map scaled to 0…1 by its own minimum and maximum; "
        "max: the largest of all"
    )
    fits: tuple[str, ...] = ("stretch",)

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options_as(DepthOptions, self.name, options)
        low, high = self._options.min_depth, self._options.max_depth
        if not (math.isfinite(low) and low > 0):
            raise UsageError(f"depth: min_depth={low}", why="logarithms need more than 0")
        if high is not None and not high > low:
            raise UsageError(f"depth: max_depth={high}", why=f"min_depth is {low}")
        if not (math.isfinite(self._options.scale) and self._options.scale > 0):
            raise UsageError(f"depth: scale={self._options.scale}", why="it must be above 0")

    def targets(self, path: Path) -> Targets:
        """Return the maps in a folder."""
        return FolderTargets(path, MAP_SUFFIXES, self.load)

    def load(self, path: Path) -> Any:
        """Return the ground-truth depth in one file, in float64, scaled."""
        return load_map(path).astype(np.float64) * self._options.scale

    def against_targets(self) -> Scorer:
        """Return the seven figures' scorer."""
        return DepthErrors(self._options)

    def against_reference(self) -> Scorer:
        """Return the scorer of maps brought to 0…1."""
        return DepthAgreement(self._options.output)


class DepthErrors:
    """The figures against targets; a `Scorer`."""

    def __init__(self, options: DepthOptions) -> None:
        self._options = options
        self._sums = {one.name: 0.0 for one in METRICS}
        self._pooled = {one.name: 0.0 for one in METRICS}
        self._abs_rel: list[float] = []  # of each picture, for the interval of their mean
        self._images = self._pixels = 0
        self._not_finite = self._opposed = 0
        self._factors: list[float] = []

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a picture's map; it is brought to the target's size."""
        maps = first_maps(answers, self._options.output, "depth")
        if len(maps) != 1:
            raise UsageError("depth: one image per sample", why=f"an output has {len(maps)} maps")
        high = math.inf if self._options.max_depth is None else self._options.max_depth
        with np.errstate(invalid="ignore"):
            known = np.isfinite(target) & (target >= self._options.min_depth) & (target <= high)
        if not known.any():
            return SampleScore(left_out="no pixel of its target is known and within bounds")
        wanted, given = target[known], bilinear(maps[0], target.shape)[known]
        if not np.isfinite(given).all():
            self._not_finite += 1
            return SampleScore(values={one.name: None for one in METRICS})
        # the map falls where its target grows
        self._opposed += float((given - given.mean()) @ (wanted - wanted.mean())) < 0
        depth, factor = _aligned(given, wanted, self._options)
        sums = _error_sums(depth, wanted)
        values = _figures(sums, wanted.size)
        for name, value in values.items():
            self._sums[name] += value
            self._pooled[name] += sums[name]
        self._abs_rel.append(values["abs_rel"])
        self._images += 1
        self._pixels += wanted.size
        self._factors += [factor] if factor is not None else []
        return SampleScore(values={**values, "factor": factor, "pixels": float(wanted.size)})

    def result(self) -> TaskScores:
        """Return means over pictures, and the same over pixels."""
        if self._not_finite or not self._images:
            unknown: dict[str, float | None] = {metric.name: None for metric in METRICS}
            return TaskScores(values=unknown, notices=tuple(self._notices()))
        pooled = _figures(self._pooled, self._pixels)
        factors = np.array(self._factors)
        low, high = self._interval()
        middle = factors.mean() if factors.size > 1 else 0.0
        return TaskScores(
            values={name: value / self._images for name, value in self._sums.items()},
            more={
                **{f"{name}_over_pixels": value for name, value in pooled.items()},
                "abs_rel_low": low,
                "abs_rel_high": high,
                "factor_median": float(np.median(factors)) if factors.size else None,
                "factor_cv_pct": float(100 * factors.std() / abs(middle)) if middle else None,
            },
            notices=tuple(self._notices()),
        )

    def _interval(self) -> tuple[float | None, float | None]:
        """Return Student's 95 % interval of the mean `abs_rel`: pictures are a sample of many."""
        count = len(self._abs_rel)
        if count < 10:  # the mean is not normal enough
            return None, None
        error = float(np.std(self._abs_rel, ddof=1)) / math.sqrt(count)
        half = student_quantile(0.975, count - 1) * error
        mean = float(np.mean(self._abs_rel))
        return mean - half, mean + half

    def _notices(self) -> Iterator[Notice]:
        if self._not_finite:
            text = f"{self._not_finite:,} maps hold NaN or infinities, so metrics are not defined"
            yield Notice("W-DEPTH-NOT-FINITE", text)
        if self._opposed > self._images / 2 and self._options.holds == "depth":
            text = (
                f"in {self._opposed:,} of {self._images:,} images the map falls where the target "
                "grows: if the model outputs disparity, use depth?holds=disparity"
            )
            yield Notice("W-DEPTH-OPPOSED", text)


def _aligned(given: Any, wanted: Any, options: DepthOptions) -> tuple[Any, float | None]:
    """Return depth in the target's unit, and what it was multiplied by (``None``: by nothing)."""
    high = math.inf if options.max_depth is None else options.max_depth
    is_disparity = options.holds == "disparity"
    factor, least = None, 1e-12
    if options.align == "scale-shift":
        factor, shift = _fit(given, 1 / wanted if is_disparity else wanted)
        given = factor * given + shift
        least = 1 / (high if math.isfinite(high) else float(wanted.max()))
    depth = 1 / np.maximum(given, least) if is_disparity else given
    if options.align == "median":
        middle = float(np.median(depth))
        factor = float(np.median(wanted)) / middle if middle else None
        depth = depth * factor if factor is not None else depth
    return np.clip(depth, options.min_depth, high), factor


def _fit(given: Any, wanted: Any) -> tuple[float, float]:
    """Return factor and shift that bring `given` nearest to `wanted`, by least squares."""
    centred = given - given.mean()
    power = float(centred @ centred)
    factor = float(centred @ (wanted - wanted.mean())) / power if power else 0.0
    return factor, float(wanted.mean()) - factor * float(given.mean())


def _error_sums(depth: Any, wanted: Any) -> dict[str, float]:
    error = depth - wanted
    squares = error * error
    logs = np.log(depth) - np.log(wanted)
    ratio = np.maximum(depth / wanted, wanted / depth)
    return {
        "abs_rel": float((np.abs(error) / wanted).sum()),
        "sq_rel": float((squares / wanted).sum()),
        "rmse": float(squares.sum()),
        "rmse_log": float((logs * logs).sum()),
        **{f"d{n}": float(np.count_nonzero(ratio < 1.25**n)) for n in (1, 2, 3)},
    }


def _figures(sums: Mapping[str, float], count: int) -> dict[str, float]:
    means = {name: value / count for name, value in sums.items()}
    return {name: math.sqrt(one) if name.startswith("rmse") else one for name, one in means.items()}
