"""Call a builder's API and print what it gives: ``python builder_script.py MODULE FOLDER``.

The same calls are made of TensorRT for RTX and of the stand-in. A value that no library owes the
other (bytes of a plan, texts of a log, numbers of a machine) is not printed, an error by its kind.
"""

import importlib
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

DEFAULTS = (
    *("avg_timing_iterations", "builder_optimization_level", "max_aux_streams", "max_num_tactics"),
    *("l2_limit_for_tiling", "profile_stream", "DLA_core", "plugins_to_serialize", "flags"),
    *("progress_monitor", "engine_capability", "default_device_type", "profiling_verbosity"),
    *("runtime_platform", "tiling_optimization_level", "num_optimization_profiles"),
)
SETTINGS: tuple[tuple[str, Any], ...] = (
    *(("builder_optimization_level", value) for value in (0, 5, 9, -1)),
    *(("max_aux_streams", value) for value in (0, 3, -2)),
    *(("max_num_tactics", value) for value in (3, -5)),
    *(("avg_timing_iterations", value) for value in (3, 0)),
    *(("l2_limit_for_tiling", value) for value in (100, -1)),
    *(("DLA_core", value) for value in (0,)),
    *(("max_aux_streams", value) for value in ("3", None, 1.5)),
)
BATCHES = ((1, 4), (2, 4), (8, 4))


def shown(value: Any) -> Any:
    """Return a value as JSON, objects of the library by their kind."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    if hasattr(type(value), "__members__"):
        return value.name
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Dims":
        return [shown(item) for item in value]
    return type(value).__name__


class Script:
    def __init__(self, trt: Any, folder: Path) -> None:
        self.trt, self.folder, self.found = trt, folder, {}
        self.errors: list[str] = []
        script = self

        class Logger(trt.ILogger):
            def __init__(self) -> None:
                trt.ILogger.__init__(self)

            def log(self, severity: Any, msg: str) -> None:
                if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                    script.errors.append(msg)

        self.logger = Logger()
        self.builder = trt.Builder(self.logger)

    def take(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call; keep its value, or the kind of its error, and whether it logged one."""
        self.errors.clear()
        try:
            value = call()
            self.found[name] = shown(value)
        except Exception as error:  # noqa: BLE001 - every kind is compared
            value = None
            self.found[name] = type(error).__name__
        self.found[f"{name}: logs an error"] = bool(self.errors)
        return value

    def configuration(self) -> None:
        trt = self.trt
        for name in DEFAULTS:
            self.take(f"default {name}", partial(getattr, self.config(), name))

        def put(name: str, value: Any) -> Any:
            config = self.config()
            setattr(config, name, value)
            return getattr(config, name)

        def set_flag(flag: Any) -> bool:
            config = self.config()
            config.set_flag(flag)
            return config.get_flag(flag)

        for name, value in SETTINGS:
            self.take(f"{name} = {value!r}", partial(put, name, value))
        for name, flag in trt.BuilderFlag.__members__.items():
            self.take(f"set_flag {name}", partial(set_flag, flag))
        self.take("set_flag 0", lambda: self.config().set_flag(0))
        self.take("an unknown attribute", lambda: setattr(self.config(), "nonsense", 1))
        self.take("1 << flag", lambda: 1 << trt.BuilderFlag.TF32)
        self.take("tactic sources", self.config().get_tactic_sources)
        self.take("set_tactic_sources 1", lambda: self.config().set_tactic_sources(1))
        self.take("constructing", trt.IBuilderConfig)
        pool = trt.MemoryPoolType.WORKSPACE

        def limit(size: int) -> int:
            config = self.config()
            config.set_memory_pool_limit(pool, size)
            return config.get_memory_pool_limit(pool)

        self.take("workspace 1 MiB", lambda: limit(1 << 20))
        self.take("workspace -1", lambda: limit(-1))
        for name, member in trt.PreviewFeature.__members__.items():
            self.take(f"preview {name}", partial(self.config().get_preview_feature, member))

    def config(self) -> Any:
        return self.builder.create_builder_config()

    def values(self) -> None:
        trt = self.trt
        self.take("Dims equal a tuple", lambda: trt.Dims([1, 2]) == (1, 2))
        self.take("Dims equal Dims", lambda: trt.Dims([1, 2]) == trt.Dims([1, 2]))
        self.take("Builder of no logger", lambda: trt.Builder(3))
        self.take("create_network of text", lambda: self.builder.create_network("0"))
        self.take("volume", lambda: trt.volume((2, 3)))
        self.take("types", lambda: sorted(trt.DataType.__members__))

        class Forgetful(trt.ILogger):
            def __init__(self) -> None:
                """Nothing."""

        self.take("a logger that forgets its base", Forgetful)

    def parsing(self) -> None:
        for name in ("missing", "garbage", "operator", "perceptron", "expanded", "typed"):
            network, parser = self.parsed(name)
            count = parser.num_errors
            self.found[f"{name}: errors"] = count > 0
            for key in ("code", "node", "node_name", "node_operator") if count else ():
                self.take(f"{name}: {key}", getattr(parser.get_error(0), key))
            self.take(f"{name}: get_error {count}", partial(parser.get_error, 99))
            inputs = map(network.get_input, range(network.num_inputs))
            self.found[f"{name}: inputs"] = [
                [one.name, shown(one.shape), one.dtype.name, one.is_shape_tensor] for one in inputs
            ]
            outputs = map(network.get_output, range(network.num_outputs))
            self.found[f"{name}: outputs"] = [
                [one.name, len(one.shape), one.dtype.name] for one in outputs
            ]
        self.take("no file: parse", lambda: self.parser_of().parse_from_file(3))
        network, _ = self.parsed("perceptron")
        layers = [network.get_layer(at) for at in range(network.num_layers)]
        self.found["layers with a node"] = [
            [one.name, one.type.name, one.num_inputs, one.num_outputs]
            for one in layers
            if one.type.name != "CONSTANT"
        ]
        self.take("network name", lambda: network.name.rstrip("0123456789"))
        self.take("get_layer 99", lambda: network.get_layer(99))
        self.take("get_input 99", lambda: network.get_input(99))
        self.take("network[99]", lambda: network[99])
        self.take("len(network)", lambda: len(network) == network.num_layers)
        tensor = network.get_input(0)
        half = self.trt.DataType.HALF
        self.take("tensor.dtype = HALF", lambda: setattr(tensor, "dtype", half))
        self.take("layer.precision", lambda: layers[0].precision)
        self.take("layer.set_output_type", lambda: layers[0].set_output_type(0, half))

    def parser_of(self) -> Any:
        self.network = self.builder.create_network(0)
        return self.trt.OnnxParser(self.network, self.logger)

    def parsed(self, name: str) -> tuple[Any, Any]:
        parser = self.parser_of()
        path = str(self.folder / f"{name}.onnx")
        self.take(f"{name}: parse", lambda: parser.parse_from_file(path))
        return self.network, parser

    def profiles(self) -> None:
        make = self.builder.create_optimization_profile
        self.take("an empty profile is true", lambda: bool(make()))
        add = self.config().add_optimization_profile
        self.take("an empty profile is added", lambda: add(make()))
        self.take("shapes out of order", lambda: make().set_shape("x", (2, 4), (1, 4), (8, 4)))
        self.take("shapes of two ranks", lambda: make().set_shape("x", (1,), (1, 4), (8, 4)))
        self.take("shapes as text", lambda: make().set_shape("x", "1x4", "1x4", "1x4"))
        self.take("shape of a number", lambda: make().set_shape(0, *BATCHES))
        self.take("unknown shape", lambda: make().get_shape("x"))
        self.take("values out of order", lambda: make().set_shape_input("s", (2,), (1,), (3,)))
        self.take("extra memory", lambda: make().extra_memory_target)
        self.take("shapes", lambda: self.profile(BATCHES).get_shape("x"))

    def profile(self, spans: Any) -> Any:
        profile = self.builder.create_optimization_profile()
        profile.set_shape("x", *spans)
        return profile

    def building(self) -> None:
        build = self.builder.build_serialized_network
        for name, spans in (
            ("none", None),
            ("of another rank", ((1,), (2,), (8,))),
            ("of another size", ((1, 5), (2, 5), (8, 5))),
            ("out of order", ((2, 4), (1, 4), (8, 4))),
            ("fitting", BATCHES),
        ):
            network, _ = self.parsed("perceptron")
            config = self.config()
            if spans is not None:
                add = partial(config.add_optimization_profile, self.profile(spans))
                self.take(f"profile {name}", add)
            plan = self.take(f"plan, profile {name}", partial(build, network, config))
            if spans is None:
                text = "no optimization profile has been defined"
                said = any(text in error for error in self.errors)
                self.found["a build without a profile says so"] = said
        self.take("plan: len", lambda: len(plan))
        self.found["plan: nbytes"] = plan.nbytes == len(bytes(memoryview(plan)))
        self.take("plan of no network", lambda: build(None, self.config()))
        empty = self.builder.create_network(0)
        self.take("plan of an empty network", lambda: build(empty, self.config()))

    def watched(self, goes_on: bool) -> None:
        base = self.trt.IProgressMonitor
        seen, running = [], []

        class Monitor(base):
            def __init__(self) -> None:
                base.__init__(self)

            def phase_start(self, phase_name, parent_phase, num_steps) -> None:
                seen.append((phase_name, parent_phase))
                running.append(phase_name)

            def step_complete(self, phase_name, step) -> bool:
                return goes_on

            def phase_finish(self, phase_name) -> None:
                running.remove(phase_name)

        network, _ = self.parsed("perceptron")
        config, monitor = self.config(), Monitor()
        config.add_optimization_profile(self.profile(BATCHES))
        config.progress_monitor = monitor
        build = self.builder.build_serialized_network
        self.take(f"plan, goes on {goes_on}", lambda: build(network, config))
        names = {name for name, _ in seen}
        self.found[f"{goes_on}: the first phase has no parent"] = seen[0][1] is None
        self.found[f"{goes_on}: parents are phases"] = {one for _, one in seen if one} <= names
        self.found[f"{goes_on}: phases end"] = running == []


def main(module: str, folder: str) -> None:
    script = Script(importlib.import_module(module), Path(folder))
    script.configuration()
    script.values()
    script.parsing()
    script.profiles()
    script.building()
    script.watched(True)
    script.watched(False)
    json.dump(script.found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
