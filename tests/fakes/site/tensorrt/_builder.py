"""Building: network and configuration into a plan."""

from typing import Any

from fake_device.crash import crash
from fake_device.device import DEVICE
from fake_device.settings import faulty
from tensorrt import _model, _plan, _validation
from tensorrt._bound import Bound, need
from tensorrt._config import IBuilderConfig
from tensorrt._enums import ALL
from tensorrt._io import choose_format
from tensorrt._logger import ILogger
from tensorrt._network import INetworkDefinition
from tensorrt._plugins import REGISTRY
from tensorrt._profiles import IOptimizationProfile
from tensorrt._values import IHostMemory
from tensorrt._version import FULL, IS_RTX, MAJOR

_PRECISIONS = ("FP16", "BF16", "INT8", "FP8", "INT4", "FP4")


class Builder(Bound):
    def __init__(self, logger: ILogger) -> None:
        need("Builder", (logger, ILogger))
        missing = DEVICE.absent()
        if missing is not None and not IS_RTX:
            text = f"CUDA initialization failure with error: {int(missing)}"
            logger.log(ILogger.WARNING, text)
            raise TypeError("pybind11::init(): factory function returned nullptr")
        self._logger = logger
        self._threads = 1
        logger.log(
            ILogger.INFO, "[MemUsageChange] Init CUDA: CPU +2, GPU +0, now: CPU 25, GPU 526 (MiB)"
        )

    logger = property(lambda self: self._logger)

    @property
    def max_threads(self) -> int:
        return self._threads

    @max_threads.setter
    def max_threads(self, count: int) -> None:
        need("max_threads", (count, int))
        self._threads = count

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        need("create_network", (flags, int))
        made = INetworkDefinition.__new__(INetworkDefinition)
        made.__init__(self, flags)
        return made

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig(self._logger)

    def create_optimization_profile(self) -> IOptimizationProfile:
        return IOptimizationProfile(self._logger)

    def get_plugin_registry(self) -> Any:
        return REGISTRY

    def build_serialized_network(
        self, network: INetworkDefinition, config: IBuilderConfig
    ) -> IHostMemory | None:
        need("build_serialized_network", (network, INetworkDefinition), (config, IBuilderConfig))
        wrong = _validation.complaint(network, config)
        if wrong is not None:
            self._say("ERROR", wrong)
            return None
        return _Building(self, network, config).run()

    def _say(self, severity: str, text: str) -> None:
        self._logger.log(getattr(ILogger, severity), text)


class _Building:
    def __init__(self, builder: Builder, network: Any, config: IBuilderConfig) -> None:
        self._say = builder._say
        self._network, self._config = network, config

    def run(self) -> IHostMemory | None:
        if faulty("crash_build"):
            crash()
        if not self._work():
            self._say("ERROR", "Error Code 2: Internal Error (the build was canceled)")
            return None
        if faulty("build_fails"):
            self._say(
                "ERROR",
                "10: [optimizer.cpp::computeCosts::3869] Error Code 10: Internal Error (Could not "
                f"find any implementation for node {self._network.get_layer(0).name}.)",
            )
            return None
        self._calibrate()
        self._say(
            "INFO",
            f"Detected {self._network.num_inputs} inputs and "
            f"{self._network.num_outputs} output network tensors.",
        )
        facts = self._facts()
        self._say("INFO", "Total Host Persistent Memory: 1024")
        self._say("INFO", "Total Device Persistent Memory: 0")
        self._say("INFO", "Total Scratch Memory: 0")
        self._say("INFO", f"Total Activation Memory: {facts['activation_bytes']}")
        return IHostMemory(_plan.write(facts, self._network._model))

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
        kept = calibrator.read_calibration_cache()
        if kept:
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
            4 * max(_volume(dims.get(name, [])), 1)
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
            "tactic_sources": config.get_tactic_sources(),
            "aux_streams": max(config.max_aux_streams, 0),
            "activation_bytes": activation,
            "weight_bytes": _model.weight_bytes(model),
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
            "precisions": [one for one in _PRECISIONS if config._has(one)],
            "built_by": FULL,
            "major": MAJOR,
            "capabilities": [f"{one[2:-1]}.{one[-1]}" for one in config._capabilities],
        }


def _volume(dims: list[int]) -> int:
    found = 1
    for size in dims:
        found *= max(size, 1)
    return found
