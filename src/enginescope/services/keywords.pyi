# fmt: off
"""Keyword arguments of functions of several models; `make reference` writes this file."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from typing_extensions import Required

from enginescope.records.run.job import Conditions, Limits, TelemetryRule, Workload
from enginescope.records.run.sample_set import Preprocessing

class ContendKeywords(TypedDict, total=False):
    on: str | Sequence[str]
    share: Literal['processes', 'streams']
    rounds: int
    continues: bool
    max_time_s: float | None
    tags: Sequence[str]
    workload: Workload
    limits: Limits | None
    store: str | PathLike[str] | None


class DepthKeywords(TypedDict, total=False):
    image: Required[str | PathLike[str]]
    on: str | Sequence[str]
    gt: str | PathLike[str] | None
    metric_images_dir: str | PathLike[str] | None
    metric_gt_dir: str | PathLike[str] | None
    input_size: int | None
    warmup: int
    iterations: int
    gpu_id: int
    output_dir: str | PathLike[str]
    gt_scale: float
    min_depth: float
    max_depth: float | None
    align: Literal['median', 'scale-shift', 'none']
    disparity: bool
    preprocessing: Preprocessing
    output_name: str | None
    fail_fast: bool
    tags: Sequence[str]
    limits: Limits | None
    store: str | PathLike[str] | None


class InterleavedKeywords(TypedDict, total=False):
    rounds: int | None
    threshold_pct: float
    across: Sequence[str]
    on: str | Sequence[str] | None
    layer_profile: bool
    profile_mode: Literal['gated', 'trtexec']
    data: str
    telemetry: TelemetryRule | Literal['off', 'clock', 'full']
    conditions: Conditions
    clock: int | Literal['base', 'max'] | None
    profile_index: int | None
    rebuild: bool
    trtexec_arguments: str
    commit: str | None
    continues: bool
    max_time_s: float | None
    tags: Sequence[str]
    workload: Workload
    limits: Limits | None
    store: str | PathLike[str] | None


class UpgradeKeywords(TypedDict, total=False):
    old: Required[str | PathLike[str]]
    new: str | PathLike[str] | None
    on: str | Sequence[str]
    repeats: int
    builds: int | None
    inconclusive: Literal['fail', 'pass']
    without_inputs: bool
    reference: str | PathLike[str] | None
    data: Sequence[str | PathLike[str]]
    samples: int | None
    tolerance: str | None
    rounds: int | None
    max_regression_pct: Mapping[str, float]
    evidence: str | PathLike[str] | None
    continues: bool
    max_time_s: float | None
    tags: Sequence[str]
    workload: Workload
    limits: Limits | None
    store: str | PathLike[str] | None


class ValidateKeywords(TypedDict, total=False):
    on: str | Sequence[str]
    reference: str | PathLike[str] | None
    data: str | PathLike[str] | Sequence[str | PathLike[str]]
    images: str | PathLike[str] | Sequence[str | PathLike[str]]
    random: bool
    samples: int | None
    image_input: str | None
    preprocessing: Preprocessing
    map: Mapping[str, str]
    task: str | None
    targets: str | PathLike[str] | None
    task_limits: Mapping[str, float]
    tolerance: str | None
    rtol: float | Mapping[str, float] | None
    atol: float | Mapping[str, float] | None
    percent_mismatch: float | Mapping[str, float] | None
    percent: float | None
    allow_nothing_compared: bool
    bisect: bool
    suggest_precision: bool
    marks: int | None
    extract: str | PathLike[str] | None
    profile_index: int | None
    rebuild: bool
    fail_fast: bool
    output: str | PathLike[str] | None
    skip_output_save: bool
    workload: Workload
    limits: Limits | None
    store: str | PathLike[str] | None
