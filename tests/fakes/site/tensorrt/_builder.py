"""Building: network and configuration into a plan, or what is wrong with them."""

import math
from typing import Any

import onnx
from fake_device.device import DEVICE
from fake_device.settings import crash, faulty
from tensorrt import _model
from tensorrt._base import ALL, FULL, IS_RTX, MAJOR, Bound, IHostMemory, Setting, need
from tensorrt._callbacks import ILogger
from tensorrt._config import IBuilderConfig, IOptimizationProfile
from tensorrt._execution import choose_format
from tensorrt._network import INetworkDefinition
from tensorrt._runtime import write_plan

_TYPED = ("FP16", "BF16", "INT8", "FP8", "INT4", "FP4")


class Builder(Bound):
    def __init__(self, logger: ILogger) -> None:
        need("Builder", (logger, ILogger))
        missing = DEVICE.absent()
        if missing is not None and not IS_RTX:
            logger.log(ILogger.WARNING, f"CUDA initialization failure with error: {int(missing)}")
            raise TypeError("pybind11::init(): factory function returned nullptr")
        self._logger, self._values = logger, {}
        self._say("INFO", "[MemUsageChange] Init CUDA: CPU +2, GPU +0, now: CPU 25, GPU 526 (MiB)")

    max_threads = Setting(int, 1)

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        need("create_network", (flags, int))
        return INetworkDefinition(self, flags)

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig(self._logger)

    def create_optimization_profile(self) -> IOptimizationProfile:
        return IOptimizationProfile(self._logger)

    def build_serialized_network(
        self, network: INetworkDefinition, config: IBuilderConfig
    ) -> IHostMemory | None:
        need("build_serialized_network", (network, INetworkDefinition), (config, IBuilderConfig))
        wrong = _complaint(network, config)
        if wrong is not None:
            self._error(wrong)
            return None
        return _Building(self, network, config).run()


class _Building(Bound):
    def __init__(self, builder: Builder, network: Any, config: IBuilderConfig) -> None:
        self._logger = builder._logger
        self._network, self._config = network, config

    def run(self) -> IHostMemory | None:
        if faulty("crash_build"):
            crash()
        if not self._work():
            self._error("Error Code 2: Internal Error (the build was canceled)")
            return None
        if faulty("build_fails"):
            self._error(
                "10: [optimizer.cpp::computeCosts::3869] Error Code 10: Internal Error (Could not "
                f"find any implementation for node {self._network.get_layer(0).name}.)"
            )
            return None
        self._calibrate()
        self._say(
            "INFO",
            f"Detected {self._network.num_inputs} inputs and "
            f"{self._network.num_outputs} output network tensors.",
        )
        facts = self._facts()
        for name, size in (
            *(("Host Persistent", 1024), ("Device Persistent", 0), ("Scratch", 0)),
            ("Activation", facts["activation_bytes"]),
        ):
            self._say("INFO", f"Total {name} Memory: {size}")
        return IHostMemory(write_plan(facts, self._network._model))

    def _work(self) -> bool:
        """Time every layer, into the cache, and tell the monitor; false: it wants no more."""
        config, monitor = self._config, self._config._values.get("progress_monitor")
        if config._has("DISABLE_TIMING_CACHE"):
            cache = None
        else:
            config._cache = cache = config._cache or config.create_timing_cache(b"")
        layers = [self._network.get_layer(at) for at in range(self._network.num_layers)]
        if monitor is not None:
            monitor.phase_start("Building Engine", None, len(layers))
        going_on = True
        for at, layer in enumerate(layers):
            if cache is not None:
                cache._timed.add(f"{layer.type.name} {layer.name}")
            if monitor is not None:
                phase = f"Timing tactics of {layer.name}"
                monitor.phase_start(phase, "Building Engine", 1)
                going_on = monitor.step_complete(phase, 0)
                monitor.phase_finish(phase)
                going_on = going_on and monitor.step_complete("Building Engine", at)
            if not going_on:
                break
        if monitor is not None:
            monitor.phase_finish("Building Engine")
        return going_on

    def _calibrate(self) -> None:
        calibrator = self._config._values.get("int8_calibrator")
        if not self._config._has("INT8") or calibrator is None:
            return
        if calibrator.read_calibration_cache():
            return
        names = [one.name for one in self._network._inputs]
        while (batch := calibrator.get_batch(names)) is not None:
            assert len(batch) == len(names), "an address for each input"
            assert all(DEVICE.memory.on_device(int(one), 1) for one in batch), "on the device"
        calibrator.write_calibration_cache(b"fake calibration cache")

    def _facts(self) -> dict[str, Any]:
        network, config = self._network, self._config
        model = network._model
        dims = _model.value_dims(model, {})
        activation = sum(
            4 * math.prod(max(size, 1) for size in dims.get(name, ()))
            for node in model.graph.node
            for name in node.output
        )
        flags = [name for name in ALL["BuilderFlag"].__members__ if config._has(name)]
        return {
            "name": network.name,
            "flags": flags,
            "strongly_typed": network._strongly_typed,
            "verbosity": config.profiling_verbosity.name,
            "hardware": config.hardware_compatibility_level.name,
            "aux_streams": max(config.max_aux_streams, 0),
            "activation_bytes": activation,
            "weight_bytes": sum(
                onnx.numpy_helper.to_array(one).nbytes for one in model.graph.initializer
            ),
            "profiles": [
                {"shapes": one._shapes, "values": one._shape_values} for one in config._profiles
            ],
            "io": [
                {
                    "name": one.name,
                    "input": one.is_network_input,
                    "shape": list(one.shape),
                    "dtype": one.dtype.name,
                    "format": choose_format(one.allowed_formats, len(one.shape)),
                    "host": one.is_shape_tensor,
                }
                for one in (*network._inputs, *network._outputs)
            ],
            "precisions": [one for one in _TYPED if config._has(one)],
            "built_by": FULL,
            "major": MAJOR,
            "capabilities": [f"{one[2:-1]}.{one[-1]}" for one in config._capabilities],
        }


def _complaint(network: Any, config: Any) -> str | None:
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
    kinds = {node.op_type for node in network._model.graph.node}
    if "QuantizeLinear" in kinds or config._values.get("int8_calibrator") is not None:
        return None
    return (
        "4: [standardEngineBuilder.cpp::initCalibrationParams::1487] Error Code 4: Internal Error "
        "(Calibration failure occurred with no scaling factors detected. This could be due to no "
        "int8 calibrator or insufficient custom scales for network layers. Please see int8 sample "
        "to setup calibration correctly.)"
    )
