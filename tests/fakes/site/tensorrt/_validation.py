"""What is wrong with a network and its configuration, in TensorRT's words."""

from typing import Any

from tensorrt._model import quantised
from tensorrt._version import MAJOR

_TYPED = ("FP16", "BF16", "INT8", "FP8", "INT4", "FP4")


def complaint(network: Any, config: Any) -> str | None:
    """Return the first reason not to build; ``None`` if there is none."""
    if not network._outputs:
        return (
            "4: [network.cpp::validate::3072] Error Code 4: Internal Error (Network must have at "
            "least one output)"
        )
    if network._strongly_typed and any(config._has(name) for name in _TYPED):
        return (
            "IBuilder::buildSerializedNetwork: Error Code 9: API Usage Error (precision flags "
            "cannot be set for a strongly typed network)"
        )
    dynamic = [one for one in network._inputs if -1 in list(one.shape) or one.is_shape_tensor]
    if dynamic and not config._profiles:
        return (
            "4: [network.cpp::validate::3038] Error Code 4: Internal Error (Network has dynamic or "
            "shape inputs, but no optimization profile has been defined.)"
        )
    for index, profile in enumerate(config._profiles):
        wrong = _profile_complaint(network, profile, index)
        if wrong is not None:
            return f"4: [network.cpp::validate] Error Code 4: Internal Error ({wrong})"
    if config._has("INT8") and MAJOR < 11:
        return _calibration_complaint(network, config)
    return None


def _profile_complaint(network: Any, profile: Any, index: int) -> str | None:
    for one in network._inputs:
        shape = list(one.shape)
        if one.is_shape_tensor:
            if one.name not in profile._shape_values:
                return f"{one.name}: optimization profile is missing values for shape input"
            continue
        span = profile._shapes.get(one.name)
        if span is None:
            if -1 in shape:
                return f"Network has dynamic or shape inputs, but profile {index} lacks {one.name}"
            continue
        for word, dims in zip(("kMIN", "kOPT", "kMAX"), span, strict=True):
            fits = len(dims) == len(shape) and all(
                want in (-1, got) for want, got in zip(shape, dims, strict=True)
            )
            if not fits:
                return (
                    f"{one.name}: {word} dimensions in profile {index} are "
                    f"{list(dims)} but input has static dimensions {shape}."
                )
    return None


def _calibration_complaint(network: Any, config: Any) -> str | None:
    if quantised(network._model) or config._values.get("int8_calibrator") is not None:
        return None
    return (
        "4: [standardEngineBuilder.cpp::initCalibrationParams::1487] Error Code 4: Internal Error "
        "(Calibration failure occurred with no scaling factors detected. This could be due to no "
        "int8 calibrator or insufficient custom scales for network layers. Please see int8 sample "
        "to setup calibration correctly.)"
    )
