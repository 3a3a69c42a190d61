"""Requests of ``validate`` and ``depth``, and what a comparison of outputs reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from enginescope.analysis.errors.output_tolerance import (
    ToleranceOption,
    ToleranceRequest,
    tolerance_named,
)
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, copied, replace
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Limits, StopRule, TelemetryRule, WarmUp, Workload
from enginescope.records.run.sample_set import NORMALIZATIONS, Preprocessing
from enginescope.services.declared import File, Param, path_of, unflagged
from enginescope.services.measurement import jobs
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.observer import Observer

#: No picture has a longer side.
MOST_PIXELS = 65_536
#: Of one side's process: an engine may have to be built.
SIDE_LIMITS = Limits(timeout_s=4 * 3600.0)


class SampleRequest(Record, frozen=True):
    """Which samples to compare: pictures, other files, random ones; see `validate`.

    Attributes:
        count: So many random samples (8), or the first of the data (all).
    """

    data: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()
    random: bool = False
    count: int | None = None
    image_input: str | None = None


SampleFiles: TypeAlias = Annotated[Sequence[File], Param("Samples whose outputs to compare.")]
SampleCount: TypeAlias = Annotated[
    int | None, Param("Number of samples to compare.", least=1, usual="8, or all of the data")
]


class SampledRequest(jobs.ModelRequest, frozen=True, kw_only=True):
    """A `ModelRequest` whose outputs are compared on samples."""

    data: SampleFiles = ()
    samples: SampleCount = None

    @property
    def sample_request(self) -> SampleRequest:
        return SampleRequest(data=tuple(map(Path, self.data)), count=self.samples)

    def validation(self, **fields: Any) -> ValidateRequest:
        """Return the comparison of outputs that has these fields."""
        return copied(ValidateRequest, self, models=(self.path,), **fields)


class BisectionRequest(Record, frozen=True):
    """What to find out inside the sides that fail; see `enginescope.validate`."""

    bisect: bool = False
    suggest_precision: bool = False
    marks: int | None = None
    extract: Path | None = None

    @property
    def is_wanted(self) -> bool:
        return self.bisect or self.suggest_precision


#: One number for all outputs, or one for each that is named.
Tolerances: TypeAlias = float | Mapping[str, float] | None


class ValidateRequest(jobs.ProcessRequest, frozen=True, kw_only=True):
    """A comparison of outputs: the parameters of `validate`; `limits` are by default `SIDE_LIMITS`.

    With `is_elsewhere` another Python runs the sides: this one needs no packages for them.
    """

    models: Annotated[
        tuple[Path, ...], unflagged("ONNX models and engines; each is a side on every backend.")
    ]
    on: Annotated[
        str | Sequence[str], Param("Backend to validate.", usual="ort-cpu; trt for an engine")
    ] = ()
    reference: Annotated[
        File | None,
        Param(
            "Compare with this reference.",
            metavar="BACKEND|MODEL|ENGINE|DIR",
            usual="a data set's outputs, else the first model on ort-cpu",
        ),
    ] = None
    data: Annotated[
        File | Sequence[File],
        Param(
            "Read samples: data sets, npy, npz, raw, pb, images, or folders of them.",
            usual="test_data_set_* in the first model's folder, else random",
        ),
    ] = ()
    images: Annotated[
        File | Sequence[File],
        Param("Use these images as samples: files, or folders searched recursively."),
    ] = ()
    random: Annotated[bool, Param("Use random samples even if data exists.")] = False
    samples: Annotated[
        int | None,
        Param(
            "Number of random samples, or of the first samples in the data.",
            least=1,
            most=1_000_000,
            usual="8; all",
        ),
    ] = None
    image_input: Annotated[str | None, Param("Feed images to this input.", metavar="NAME")] = None
    preprocessing: Annotated[Preprocessing, unflagged("How images become inputs.")] = (
        Preprocessing()
    )
    map: Annotated[
        Mapping[str, str],
        unflagged("Outputs of sides -> outputs of the reference of another name."),
    ] = {}
    task: Annotated[
        str | None,
        Param(
            "Also measure task metrics: depth, classification, segmentation, detection.",
            metavar="NAME[?KEY=VALUE&…]",
        ),
    ] = None
    targets: Annotated[
        File | None, Param("Ground truth, matched by base name.", usual="the reference's outputs")
    ] = None
    task_limits: Annotated[
        Mapping[str, float], unflagged("Worst accepted value by task metric.")
    ] = {}
    tolerance: Annotated[
        str | None,
        Param(
            "Use the tolerances of this precision: fp32, tf32, fp16, int8, …", metavar="PRECISION"
        ),
    ] = None
    rtol: Annotated[Tolerances, unflagged("Relative tolerance, for all outputs or by output.")] = (
        None
    )
    atol: Annotated[Tolerances, unflagged("Absolute tolerance, for all outputs or by output.")] = (
        None
    )
    percent_mismatch: Annotated[
        Tolerances, unflagged("Percentage of elements that may exceed atol + rtol × |reference|.")
    ] = None
    percent: Annotated[
        float | None,
        Param("Count elements whose relative error exceeds this percentage.", least=0, usual="1"),
    ] = None
    allow_nothing_compared: Annotated[
        bool, Param("Pass outputs that are empty or NaN in every sample.")
    ] = False
    bisect: Annotated[bool, Param("Find where inside the model an error starts.")] = False
    suggest_precision: Annotated[
        bool,
        Param("Find which layers to keep in FP32: build and measure proposals. Implies `bisect`."),
    ] = False
    marks: Annotated[
        int | None,
        Param(
            "Number of tensors to mark at once.", least=1, usual="all; 32 if each try is a build"
        ),
    ] = None
    extract: Annotated[
        File | None,
        Param(
            "Write the node where the error starts, its inputs and a script into an empty folder. "
            "Needs `bisect`.",
            metavar="DIR",
        ),
    ] = None
    profile_index: Annotated[
        int | None, Param("Select the optimization profile of engines.", least=0)
    ] = None
    rebuild: Annotated[bool, Param("Rebuild engines even if the cache has them.")] = False
    fail_fast: Annotated[
        bool, Param("Stop at the first unreadable sample or target, instead of skipping it.")
    ] = False
    output: Annotated[
        File | None,
        unflagged("Folder for output_diff.json, per_sample_diff.json, validate.html and samples/."),
    ] = None
    skip_output_save: Annotated[bool, Param("Skip the samples/ folder in `output`.")] = False

    is_elsewhere: bool = False

    @property
    def sample_request(self) -> SampleRequest:
        return SampleRequest(
            _paths(self.data), _paths(self.images), self.random, self.samples, self.image_input
        )

    @property
    def output_limits(self) -> ToleranceRequest:
        """Limits for elements in place of a row of tolerances."""
        return ToleranceRequest(
            rtol=_options(self.rtol),
            atol=_options(self.atol),
            mismatch_pct=_options(self.percent_mismatch),
            percent=self.percent,
        )

    @property
    def bisection(self) -> BisectionRequest:
        extract = path_of(self.extract)
        return BisectionRequest(self.bisect, self.suggest_precision, self.marks, extract)


def _paths(paths: File | Sequence[File]) -> tuple[Path, ...]:
    return tuple(map(Path, [paths] if isinstance(paths, str | PathLike) else paths))


def _options(limit: Any) -> tuple[ToleranceOption, ...]:
    """Return limits of outputs; a tuple of them, from the command line, as it is."""
    if limit is None or isinstance(limit, tuple):
        return limit or ()
    pairs: list[tuple[str | None, float]]
    pairs = list(limit.items()) if isinstance(limit, Mapping) else [(None, limit)]
    for _, value in pairs:
        if not isinstance(value, Real) or not 0 <= value < math.inf:  # NaN would pass everything
            why = "it is not a finite number of 0 or more"
            raise UsageError(f"tolerance {value!r}", why=why, hint="as in 1e-3")
    return tuple(ToleranceOption(output=name, value=float(value)) for name, value in pairs)


#: Most depth-estimation models were trained behind OpenCV's filter and ImageNet's mean.
DEPTH_PREPROCESSING = Preprocessing(
    filter="opencv-bicubic", mean=NORMALIZATIONS["imagenet"][0], std=NORMALIZATIONS["imagenet"][1]
)


class DepthRequest(jobs.StoredRequest, frozen=True, kw_only=True):
    """Depth models to measure and compare: the parameters of `depth`; `limits`: `SIDE_LIMITS`."""

    models: Annotated[
        tuple[Path, ...], unflagged("ONNX models or engines; the first is the reference.")
    ]
    image: Annotated[File, Param("Image to time and draw.")]
    on: Annotated[
        str | Sequence[str],
        Param("Backend to run on.", usual="ort-cpu; trt for an engine", metavar="BACKEND..."),
    ] = ()
    gt: Annotated[File | None, Param("Ground-truth depth of the image.")] = None
    metric_images_dir: Annotated[
        File | None,
        Param("Average the metrics over the images in this folder, instead of the image alone."),
    ] = None
    metric_gt_dir: Annotated[
        File | None,
        Param("Ground-truth depth of these images, matched by base name: npy, npz, pfm, png."),
    ] = None
    input_size: Annotated[
        int | None,
        Param(
            "Height and width of the input in pixels.",
            least=1,
            most=MOST_PIXELS,
            usual="the model's own; 518 if dynamic",
        ),
    ] = None
    warmup: Annotated[int, Param("Warm up for at least this many iterations.", least=0)] = 50
    iterations: Annotated[int, Param("Stop after exactly this many iterations.", least=1)] = 1000
    gpu_id: Annotated[int, Param("Index of the GPU to run on.", least=0)] = 0
    output_dir: Annotated[File, Param("Folder for the plots and depth.json.")] = "benchmark_results"
    gt_scale: Annotated[float, Param("Multiply ground-truth depth by this factor.", above=0)] = 1.0
    min_depth: Annotated[float, Param("Ignore ground-truth depth below this value.", above=0)] = (
        1e-3
    )
    max_depth: Annotated[
        float | None, Param("Ignore ground-truth depth above this value.", above=0)
    ] = None
    align: Annotated[
        Literal["median", "scale-shift", "none"],
        Param("Align each depth map with ground truth before comparing."),
    ] = "median"
    disparity: Annotated[
        bool, Param("Treat model outputs as disparity: larger values are nearer.")
    ] = False
    preprocessing: Annotated[
        Preprocessing,
        unflagged(
            "How images become inputs.",
            usual="OpenCV's bicubic filter, and ImageNet's mean and deviation",
        ),
    ] = DEPTH_PREPROCESSING
    output_name: Annotated[
        str | None, Param("Name of the depth output.", usual="the first output of a suitable shape")
    ] = None
    fail_fast: Annotated[
        bool, Param("Stop at the first unreadable image or depth file, instead of skipping it.")
    ] = False
    workload: Workload = Workload()
    telemetry: TelemetryRule = TelemetryRule(depth="full")

    def job_request(self) -> jobs.JobRequest:
        """Return the request of the jobs that are timed."""
        warmup = WarmUp(time_ms=0.0, iterations=self.warmup)
        stop = StopRule(iterations=self.iterations)
        return copied(
            jobs.JobRequest,
            self,
            workload=replace(self.workload, warmup=warmup, stop=stop),
            limits=self.limits or SIDE_LIMITS,
            layer_profile=False,
            data="none",
        )


def check_request(request: ValidateRequest) -> None:
    """Raise `UsageError` where a request contradicts itself, before any file is read.

    Messages name parameters between backquotes.
    """
    if not request.models:
        raise UsageError("nothing to validate", hint='es.validate("model.onnx", on="trt:fp16")')
    if request.skip_output_save and request.output is None:
        raise UsageError("`skip_output_save`", why="without `output` nothing is kept")
    samples, how = request.sample_request, request.preprocessing
    sources = {"random": samples.random, "images": samples.images, "data": samples.data}
    named = [f"`{name}`" for name, value in sources.items() if value]
    if len(named) > 1:
        raise UsageError(" and ".join(named), why="each of them selects the samples")
    divisors = (how.divisor, *how.std)
    if 0 in divisors or not all(map(math.isfinite, (*divisors, *how.mean))):
        raise UsageError("preprocessing", why="divisor and std are finite and not 0, mean finite")
    for what, is_present in (
        ("targets", request.targets is not None),
        ("limits of a task", bool(request.task_limits)),
    ):
        if is_present and not request.task:
            raise UsageError(what, why="there is no task", hint="`task` depth, …")
    _check_tolerance(request)
    inside = request.bisection
    for name, is_present, effect in (
        ("marks", inside.marks is not None, "it sets how many tensors `bisect` marks at once"),
        ("extract", inside.extract is not None, "it writes the node that `bisect` finds"),
    ):
        if is_present and not inside.is_wanted:
            raise UsageError(f"`{name}`", why=effect, hint="add `bisect`")


def _check_tolerance(request: ValidateRequest) -> None:
    name, general = request.tolerance, request.output_limits.in_place_of_rows()
    if name is None:
        return
    tolerance_named(name)
    if general and not request.bisection.is_wanted:  # the row is the limit of tensors inside
        why = f"`{general}` for all outputs already covers `tolerance` {name}"
        hint = f"one of them, or `{general}` for single outputs"
        raise UsageError(f"`tolerance` and `{general}`", why=why, hint=hint)


class ValidationObserver(Observer):
    """Receives which side runs, and which sample is compared."""

    def comparison_started(self, samples: int) -> None:
        """Report how many samples every side gets."""

    def side_progressed(self, job: Job, progress: Progress | None) -> None:
        """Report the progress of a side; ``None``: its process starts."""

    def sample_compared(self, number: int) -> None:
        """Report which sample is compared, from 0."""


class DepthObserver(ValidationObserver, MeasurementObserver):
    """Receives the progress of outputs and comparisons, then that of the timed runs."""
