"""What ``sensitivity`` is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.ratio import MOST_ROUNDS
from enginescope.records.verdict.sensitivity import Granularity, LowerPrecision
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.measurement.jobs import (
    LEAST_ROUNDS,
    ROUNDS,
    MeasureRequest,
    check_bounds,
)


class SensitivityRequest(MeasureRequest, frozen=True, kw_only=True):
    """A model and a lower precision; the fields are the parameters of `sensitivity`."""

    model: Path
    to: LowerPrecision = "fp16"
    by: Granularity = "layer"
    backend: str = "ort-cpu"
    samples: SampleRequest = SampleRequest()
    max_error: float | None = None
    rounds: int = ROUNDS


def check_sensitivity_request(request: SensitivityRequest) -> None:
    for name, value, choices in (
        ("to", request.to, get_args(LowerPrecision)),
        ("by", request.by, get_args(Granularity)),
    ):
        if value not in choices:
            raise UsageError(f"`{name}` {value!r}", hint=f"one of {', '.join(choices)}")
    check_bounds(("rounds", request.rounds, LEAST_ROUNDS, MOST_ROUNDS))
    if request.max_error is not None and not request.max_error > 0:
        raise UsageError(f"`max_error` {request.max_error:g}", why="it is not above 0")
    if request.model.suffix.lower() in (".engine", ".plan", ".trt"):
        raise UsageError(
            f"{request.model.name} is an engine",
            why="its layers have their precision",
            hint="name the ONNX model that it was built from",
        )
