"""Options, precisions, caches and failures of a build."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.backends.tensorrt.build import build as module
from enginescope.backends.tensorrt.build.build import stripped_bytes
from enginescope.backends.tensorrt.build.config import ATTRIBUTES, FLAGS, Target, apply_options
from enginescope.cli.progress import describe
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.formats.trex.trex_metadata import parse_trex_metadata
from enginescope.formats.trtexec.trtexec_flags import PRECISIONS, read_precision
from enginescope.records.run.job import BackendSpec, Job
from tests.backends.tensorrt.driving import build, codes, job, measure, report, with_engine
from tests.fakes import models
from tests.fakes.driving import Build

NEW = {
    *("refit_identical", "refit_individual", "strip_plan", "weight_streaming"),
    *("error_on_timing_cache_miss", "disable_compilation_cache", "monitor_memory"),
    *("distributive_independence", "max_num_tactics", "l2_limit_for_tiling"),
}


def major(fake) -> int:
    return int(fake.trt.__version__.partition(".")[0])


def facts(one: Job) -> dict:
    """Return what the stand-in wrote into the engine that it built for a job."""
    data = Path(report(build(one)).engine).read_bytes()
    return json.loads(data[40 : 40 + int.from_bytes(data[36:40], "little")])


def flags(path: Path, engines: Path, precision: str | None = None, **options: str) -> set[str]:
    return set(facts(job(path, precision, engine_cache=str(engines), **options))["flags"])


# precisions


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_precision_is_set_or_refused(each, perceptron, engines, precision) -> None:
    lacking = {8: {"bf16", "int4"}, 10: set(), 11: set(PRECISIONS)}[major(each)]
    if precision in lacking:
        with pytest.raises(UnsupportedError, match=f"trt:{precision}") as caught:
            flags(perceptron, engines, precision)
        if major(each) == 11:
            assert "strongly typed" in str(caught.value)
            words = {"fp16": "autocast", "int8": "quantization"}
            assert words.get(precision, "") in caught.value.hint
        assert not list(engines.rglob("*.engine"))
        return
    found = flags(perceptron, engines, precision)
    wanted = {"best": {"FP16", "INT8"} if major(each) == 8 else {"FP16", "BF16", "INT8"}}.get(
        precision, {precision.upper()}
    )
    assert found & {"FP16", "BF16", "INT8", "FP8", "INT4"} == wanted


def test_int8_of_8_6_is_calibrated_unless_it_has_ranges(use, tmp_path, perceptron, engines) -> None:
    fake = use("8.6.0")
    assert {"FP16", "INT8"} <= flags(perceptron, engines, "fp16+int8")
    assert read_precision("FP16+fp16") == ("fp16",)
    with pytest.raises(UsageError, match="only INT8"):
        flags(perceptron, engines, "fp16", calibration_cache="any")
    found = build(job(perceptron, "int8", engine_cache=str(engines)))
    assert "W-RANDOM-CALIBRATION" in codes(found)
    assert "W-RANDOM-CALIBRATION" in {one.code for one in report(found).notices}
    # a shape tensor is calibrated with its values
    expanded = models.expanded(tmp_path / "expanded.onnx")
    assert "INT8" in flags(expanded, engines, "int8", opt_shapes="shape:4x3")
    ranges = models.quantised(tmp_path / "q.onnx")
    assert codes(build(job(ranges, "int8", engine_cache=str(engines)))) == set()
    cache = tmp_path / "calibration.cache"
    cache.write_bytes(b"TRT-8600-EntropyCalibration2\nx: 3c010a14\n")
    cached = job(perceptron, "int8", engine_cache=str(engines), calibration_cache=str(cache))
    assert "W-RANDOM-CALIBRATION" not in codes(build(cached))
    cache.unlink()
    with pytest.raises(UsageError, match=r"calibration cache .*No such file"):
        build(cached)
    assert fake.device.memory.live() == ()
    use("10.16.1")
    with pytest.raises(UnsupportedError, match="input x of type BF16"):
        flags(models.bfloat16(tmp_path / "b.onnx"), engines, "int8")


@pytest.mark.parametrize("precision", [None, "fp16"])
def test_strong_typing(each, perceptron, engines, precision) -> None:
    one = job(perceptron, precision, engine_cache=str(engines), strongly_typed="1")
    if major(each) == 8:
        with pytest.raises(UnsupportedError, match="no such networks"):
            build(one)
    elif precision is None:
        assert facts(one)["strongly_typed"]
    elif major(each) == 10:
        with pytest.raises(UsageError, match="has the precision of the model"):
            build(one)
    else:
        with pytest.raises(UnsupportedError, match=r"autocast|strongly typed"):
            build(one)


# options


def test_flags_are_set_or_refused(each, perceptron, engines) -> None:
    known = [key for key in FLAGS if major(each) > 8 or key not in NEW]
    for key in FLAGS.keys() - known:
        with pytest.raises(UnsupportedError, match=f"{key}.*has no such flag"):
            flags(perceptron, engines, **{key: "1"})
    if major(each) >= 11:
        with pytest.raises(UsageError, match="refused the flag EXCLUDE_LEAN_RUNTIME"):
            flags(perceptron, engines, exclude_lean_runtime="1")
    known.sort(key="exclude_lean_runtime".__eq__)  # which needs version_compatible before it
    members = {FLAGS[key] for key in known}
    assert members <= flags(perceptron, engines, **dict.fromkeys(known, "1"))
    # each may be declined, also where the version lacks it
    assert not members & flags(perceptron, engines, **dict.fromkeys(FLAGS, "0"))


def test_numbers_are_set_or_refused(each, perceptron, engines) -> None:
    known = {key: "2" for key in ATTRIBUTES if major(each) > 8 or key not in NEW}
    for key in set(ATTRIBUTES) - set(known):
        with pytest.raises(UnsupportedError, match="no such setting"):
            build(job(perceptron, engine_cache=str(engines), **{key: "2"}))
    assert report(build(job(perceptron, engine_cache=str(engines), **known))).options == known
    # a number that TensorRT does not take is no default
    with pytest.raises(UsageError, match=r"builder_optimization_level=9.*stays at [35]"):
        flags(perceptron, engines, builder_optimization_level="9")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"memory_pools": "attic:1MiB"}, "no MemoryPoolType.ATTIC"),
        ({"tactic_sources": "-MAGIC"}, "no TacticSource.MAGIC"),
        ({"preview_features": "+MAGIC"}, "no PreviewFeature.MAGIC"),
        ({"sparsity": "force"}, "another model would be measured"),
        ({"tiling_optimization_level": "7"}, "tiling"),
        ({"layer_precisions": "nowhere:fp32"}, "layer_precisions"),
        ({"layer_output_types": "nowhere:fp32"}, "layer_output_types"),
        ({"layer_device_types": "nowhere:GPU"}, "no layer of this name"),
        ({"layer_device_types": "product:TPU"}, "no DeviceType.TPU"),
        ({"input_formats": "fp32:chw,fp32:chw"}, "2 given for 1"),
        ({"input_formats": "strange"}, "no format 'strange'"),
        ({"plugins": "absent.so"}, "no such file"),
    ],
)
def test_unknown_values_are_named(each, perceptron, engines, options, words) -> None:
    with pytest.raises((UsageError, UnsupportedError), match=words):
        flags(perceptron, engines, **options)
    assert not list(engines.rglob("*.engine"))


def test_types_of_layers_and_flags_of_the_parser_are_set_or_refused(
    each, perceptron, engines
) -> None:
    for options, lacking, words in (
        ({"layer_precisions": "product:fp32"}, 11, "layer_precisions"),
        ({"layer_output_types": "product:fp32"}, 11, "layer_output_types"),
        ({"precision_constraints": "obey"}, 11, "precision_constraints=obey"),
        ({"input_formats": "fp16:chw"}, 11, "takes types from the model"),
        ({"native_instance_norm": "1"}, 8, "native_instance_norm=1.*no such parser flag"),
        ({"plugin_override": "1"}, 8, "plugin_override=1.*no such parser flag"),
    ):
        one = job(perceptron, engine_cache=str(engines), **options)
        if major(each) == lacking:
            with pytest.raises(UnsupportedError, match=words):
                build(one)
        else:
            assert report(build(one)).options == options


def test_io_formats(each, tmp_path, engines) -> None:
    path = models.image(tmp_path / "image.onnx")
    word = "hwc8" if major(each) == 11 else "fp16:hwc8"
    first, second = facts(job(path, engine_cache=str(engines), input_formats=word))["io"]
    assert first["format"] == "HWC8"
    assert first["dtype"] == ("FLOAT" if major(each) == 11 else "HALF")
    assert second["format"] == "LINEAR"


def test_verbosity_is_detailed_unless_another_is_asked_for(each, perceptron, engines) -> None:
    assert facts(job(perceptron, engine_cache=str(engines)))["verbosity"] == "DETAILED"
    brief = job(perceptron, engine_cache=str(engines), profiling_verbosity="layer_names_only")
    assert facts(brief)["verbosity"] == "LAYER_NAMES_ONLY"
    found = build(brief)
    assert found.plan is not None
    assert "I-NAMES-ONLY" in codes(found)


def test_several_settings_at_once(use, perceptron, engines) -> None:
    use("10.16.1")
    one = job(
        perceptron,
        engine_cache=str(engines),
        memory_pools="workspace:1MiB,tactic_shared_memory:48KiB",
        tactic_sources="-EDGE_MASK_CONVOLUTIONS,+JIT_CONVOLUTIONS",
        preview_features="+PROFILE_SHARING_0806",
        sparsity="enable",
        hardware_compatibility="ampere_plus",
        runtime_platform="windows_amd64",
        tiling_optimization_level="2",
        layer_device_types="product:GPU",
        max_threads="2",
        native_instance_norm="0",
        plugin_override="1",
    )
    assert build(one).plan is None  # a plan for Windows is not looked into here
    told = facts(one)
    assert told["hardware"] == "AMPERE_PLUS"
    assert "SPARSE_WEIGHTS" in told["flags"]


# layers that stay in FP32 in a build that may use less


class Layers:
    """A network whose options are applied, and its layers by name."""

    def __init__(self, fake, path: Path) -> None:
        self.made = Build(fake, path)
        network = self.made.network
        found = [network.get_layer(at) for at in range(network.num_layers)]
        self.named = {one.name: one for one in found}
        self._libraries = SimpleNamespace(trt=fake.trt)

    def apply(self, **values) -> None:
        parts = {part: getattr(self.made, part) for part in ("builder", "network", "config")}
        apply_options(Target(libraries=self._libraries, **parts), values)


@pytest.mark.parametrize("version", ["8.6.0", "10.16.1"])
def test_named_layers_compute_and_return_fp32_and_no_others(use, perceptron, version) -> None:
    fake = use(version)
    layers = Layers(fake, perceptron)
    layers.apply(keep_fp32=("product", "folded-away"))
    product, activation = layers.named["product"], layers.named["activation"]
    assert product.precision_is_set
    assert product.precision == fake.trt.DataType.FLOAT
    assert product.output_type_is_set(0)
    assert not activation.precision_is_set
    assert layers.made.config.get_flag(fake.trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    layers.apply(keep_fp32=("act*",))
    assert activation.precision_is_set
    with pytest.raises(UsageError, match="no layer of this name"):
        layers.apply(keep_fp32=("elsewhere",))


@pytest.mark.parametrize("is_first", [True, False])
def test_fp32_layers_win_over_a_precision_for_all_layers(use, perceptron, is_first) -> None:
    """The order of the options on the command line does not matter."""
    fake = use("10.16.1")
    values = {
        "keep_fp32": ("product",),
        "layer_precisions": (("*", "fp16"),),
        "layer_output_types": (("*", "fp16"),),
    }
    layers = Layers(fake, perceptron)
    layers.apply(**(values if is_first else dict(reversed(values.items()))))
    product = layers.named["product"]
    assert product.precision == product.get_output_type(0) == fake.trt.DataType.FLOAT
    assert layers.named["activation"].precision == fake.trt.DataType.HALF


def test_fp32_layers_are_the_engines_and_end_with_weak_typing(each, perceptron, engines) -> None:
    half, plain = (
        job(perceptron, precision, engine_cache=str(engines), keep_fp32="product")
        for precision in ("fp16", None)
    )
    if major(each) < 11:
        assert report(build(half)).options == {"keep_fp32": "product"}
        return
    with pytest.raises(UnsupportedError):
        build(half)
    with pytest.raises(UnsupportedError, match="strongly typed networks only"):
        build(plain)


# failures


def test_each_error_of_the_parser_names_node_and_operator(each, tmp_path, engines) -> None:
    path = models.missing_operator(tmp_path / "strange.onnx")
    with pytest.raises(UnsupportedError, match="cannot parse") as caught:
        flags(path, engines)
    assert re.search(
        r"node 1 strange \((fake\.missing::)?Frobnicate\): .*Plugin not found", str(caught.value)
    )
    code = "INVALID_NODE" if major(each) >= 11 else "UNSUPPORTED_NODE"
    assert str(caught.value).endswith(f"[{code}]")
    path.write_bytes(b"this is not a model")
    with pytest.raises(BackendError, match="MODEL_DESERIALIZE_FAILED"):
        flags(path, engines)


def test_a_plugin_that_is_missing_is_named(use, tmp_path, perceptron, engines, monkeypatch) -> None:
    for version in ("8.6.0", "11.4.0"):
        use(version, "plugin_missing")
        with pytest.raises(UnsupportedError, match=r"activation \(Relu\)"):
            flags(perceptron, engines)
    fake = use()
    library = tmp_path / "plugin.so"
    library.write_bytes(b"")
    monkeypatch.setattr(type(fake.trt.get_plugin_registry()), "load_library", lambda *_: None)
    with pytest.raises(BackendError, match="could not load it"):
        flags(perceptron, engines, plugins=str(library))


def test_a_build_that_fails_says_why(use, perceptron, engines) -> None:
    fake = use("10.16.1", "build_fails")
    why = "Could not find any implementation for node product"
    with pytest.raises(BackendError, match=why) as error:
        flags(perceptron, engines)
    assert "TensorRT has no implementation of product" in error.value.hint
    assert fake.device.memory.live() == ()


@pytest.mark.parametrize(
    ("log", "error", "why"),
    [
        (["Error Code 2: OutOfMemory (no reason)"], MemoryError, "; the GPU's memory was"),
        (
            [
                "Device memory is insufficient to use tactic.",
                "Could not find any implementation for node conv1.",
            ],
            BackendError,
            "the GPU's memory was too small ('no implementation for conv1' follows",
        ),
    ],
)
def test_a_build_out_of_memory_is_that(
    use, perceptron, engines, monkeypatch, log, error, why
) -> None:
    fake = use()

    def refuses(builder, network, config):
        for line in log:
            builder._logger.log(fake.trt.ILogger.ERROR, line)

    monkeypatch.setattr(fake.trt.Builder, "build_serialized_network", refuses)
    with pytest.raises(error) as caught:
        flags(perceptron, engines)
    assert "perceptron" in str(caught.value)
    assert why in f"{caught.value} {getattr(caught.value, 'hint', '')}"


@pytest.mark.parametrize(
    ("fault", "options"),
    [("oom_engine", {}), ("oom_context", {}), ("", {"version_compatible": "1"})],
)
def test_an_engine_without_an_inspector_is_built(use, perceptron, engines, fault, options) -> None:
    use("10.16.1", fault)
    found = build(job(perceptron, engine_cache=str(engines), **options))
    assert Path(report(found).engine).is_file()
    assert found.plan is None
    assert "W-NO-PLAN" in codes(found)


def test_the_log_can_be_verbose(use, perceptron, engines) -> None:
    use()
    made = report(build(job(perceptron, engine_cache=str(engines), log_level="verbose")))
    assert "[V] [TRT] Registered plugin creator" in Path(f"{made.engine}.build.log").read_text()


# the timing cache


def test_the_timing_cache_is_written_and_read(each, tmp_path, perceptron, engines) -> None:
    file = tmp_path / "deep" / "tactics.cache"
    build(job(perceptron, engine_cache=str(engines), timing_cache=str(file)))
    assert b"product" in file.read_bytes()
    file.write_bytes(file.read_bytes() + b"\nkept from before")
    found = build(job(perceptron, engine_cache=str(engines), timing_cache=str(file)))
    assert b"kept from before" in file.read_bytes()
    assert "W-TIMING-CACHE" not in codes(found)
    # it lies beside the engines unless declined
    build(job(perceptron, engine_cache=str(engines), timing_cache="none"))
    assert not (engines / "timing").exists()
    build(job(perceptron, engine_cache=str(engines)))
    (file,) = (engines / "timing").iterdir()
    assert file.name == f"Fake-H200-{each.trt.__version__.replace('.', '-')}.cache"


@pytest.mark.parametrize("content", [b"garbage", b"fake timing cache 7.0.0\nx"])
def test_a_foreign_timing_cache_is_written_anew(
    each, tmp_path, perceptron, engines, content
) -> None:
    file = tmp_path / "foreign.cache"
    file.write_bytes(content)
    found = build(job(perceptron, engine_cache=str(engines), timing_cache=str(file)))
    assert "W-TIMING-CACHE" in codes(found)
    assert each.trt.__version__.encode() in file.read_bytes()


def test_an_unwritable_timing_cache_costs_no_engine(use, tmp_path, perceptron, engines) -> None:
    use()
    (tmp_path / "plain").write_bytes(b"")
    file = tmp_path / "plain" / "tactics.cache"  # under a file, no folder can be made
    found = build(job(perceptron, engine_cache=str(engines), timing_cache=str(file)))
    (notice,) = (one for one in found.notices if one.code == "W-TIMING-CACHE")
    assert "could not be written" in notice.message
    assert Path(report(found).engine).is_file()
    with pytest.raises(UsageError, match="timing cache"):
        build(job(perceptron, engine_cache=str(engines), timing_cache=str(tmp_path)))


# progress, and what is left


def test_progress_tells_steps_and_share(use, perceptron, engines, monkeypatch) -> None:
    use("10.16.1")
    monkeypatch.setattr(module, "_INTERVAL_S", 0.0)
    seen = []
    build(job(perceptron, engine_cache=str(engines)), seen)
    assert [one.phase for one in seen[:2]] == ["parse", "build"]
    shown = [describe(one) for one in seen]
    assert "building the engine · 0 % · Timing tactics of product" in shown
    assert "building the engine · 50 % · Building Engine" in shown
    assert [one.fraction for one in seen][-1] == 1.0
    use("8.6.0")
    seen.clear()
    build(job(perceptron, engine_cache=str(engines)), seen)
    assert [one.phase for one in seen] == ["parse", "build"]


def test_what_lies_beside_the_engine(each, perceptron, engines) -> None:
    made = report(build(job(perceptron, engine_cache=str(engines), workspace="1MiB")))
    engine = Path(made.engine)
    ends = ("", ".build.log", ".build.metadata.json", ".graph.json")
    beside = {"build.json", *(f"perceptron.engine{end}" for end in ends)}
    assert {file.name for file in engine.parent.iterdir()} == beside
    log = (engine.parent / "perceptron.engine.build.log").read_text()
    stamp = r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]"
    assert re.search(rf"^{stamp} \[I\] \[TRT\] Input filename", log, re.MULTILINE)
    raw = (engine.parent / "perceptron.engine.build.metadata.json").read_bytes()
    told, notices = parse_trex_metadata(raw, "m")
    assert notices == ()
    assert told.options["Build Options"] == {"Precision": "FP32", "workspace": "1MiB"}
    assert told.device.name == "Fake H200"
    assert told.device.compute_capability == "9.0"
    assert json.loads(raw)["enginescope"]["key"] == made.key


def test_a_build_with_neither_cache_nor_name(use, perceptron, tmp_path, monkeypatch) -> None:
    use()
    monkeypatch.chdir(tmp_path)
    assert Path(report(build(replace(job(perceptron), engine_cache=None))).engine).is_file()
    assert not (tmp_path / "timing").exists()


def test_an_engine_without_weights_is_noticed(use, perceptron, engines) -> None:
    use()
    for more, is_noticed in (({}, True), ({"refit_from": str(perceptron)}, False)):
        found = measure(with_engine(job(perceptron, strip_plan="1", refit="1", **more), engines))
        assert ("W-STRIPPED-WEIGHTS" in codes(found)) is is_noticed


@pytest.mark.parametrize("is_stripped", [True, False])
def test_an_imported_engine_is_asked_for_its_weights(
    each, perceptron, engines, is_stripped
) -> None:
    if major(each) == 8:
        assert stripped_bytes(each.trt, None) is None
        return
    options = {"strip_plan": "1", "refit": "1"} if is_stripped else {"refit": "1"}
    built = with_engine(job(perceptron, **options), engines)
    bare = replace(built, backend=BackendSpec(name="trt"))
    for found in (measure(bare), TrtBackend().inspect(bare, lambda _: None)):
        notices = [one for one in found.notices if one.code == "W-STRIPPED-WEIGHTS"]
        assert bool(notices) is is_stripped
        assert all(one.evidence["stripped_bytes"] > 0 for one in notices)
        assert all("refit_from=MODEL.onnx" in one.message for one in notices)
    refitted = BackendSpec(name="trt", options={"refit_from": str(perceptron)})
    assert "W-STRIPPED-WEIGHTS" not in codes(measure(replace(bare, backend=refitted)))
