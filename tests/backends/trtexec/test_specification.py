import pytest

from enginescope.backends.trtexec.command import check_options, write_options
from enginescope.backends.trtexec.options import OWN, WITHOUT_FLAG, Flags, name_of
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.formats.trtexec.trtexec_flags import OPTIONS
from enginescope.records.run.job import BackendSpec, Subject
from tests.backends.trtexec.known_flags import taken_by

MODEL = Subject(name="net.onnx", kind="onnx", path="net.onnx")
TRT10, POOL = (10, 16, 0), "tactic_shared_memory"
COMPATIBLE = {"hardware_compatibility": "same_compute_capability"}
ENGINE = Subject(name="net.engine", kind="engine", path="net.engine")

#: A value that takes effect, for every option.
VALUES = {
    "min_shapes": "x:1x3",
    "opt_shapes": "x:1x3,y:2",
    "max_shapes": "x:8x3",
    "workspace": "1GiB",
    "memory_pools": "workspace:1GiB,dla_managed_sram:1MiB",
    "tactic_sources": "-CUDNN,+JIT_CONVOLUTIONS",
    "preview_features": "+PROFILE_SHARING_0806,-ALIASED_PLUGIN_IO_10_03",
    "sparsity": "force",
    "hardware_compatibility": "ampere_plus",
    "runtime_platform": "same_as_build",
    "profiling_verbosity": "layer_names_only",
    "tf32": "0",
    "timing_cache": "t.cache",
    "calibration_cache": "c.cache",
    "precision_constraints": "obey",
    "layer_precisions": "conv:fp16,*:fp32",
    "layer_output_types": "conv:fp16+fp32",
    "layer_device_types": "conv:GPU",
    "input_formats": "chw+hwc8",
    "output_formats": "chw",
    "native_instance_norm": "0",
    "plugins": "a.so,b.so",
    "serialize_plugins": "c.so",
    "refit_from": "new.onnx",
    "tempdir": "/tmp/x",
    "tempfile_controls": "in_memory:allow,temporary:deny",
    "runtime": "lean",
    "allocation": "profile",
    "weight_streaming_budget": "50%",
    "persistent_cache_ratio": "0.5",
    "log_level": "verbose",
    "profile_index": "1",
}


def flags_of(version, subject: Subject = MODEL, precision: str | None = None, **options: str):
    spec = BackendSpec(name="trtexec", precision=precision, options=options)
    check_options(spec)
    flags = Flags(version)
    write_options(flags, spec, subject)
    return flags.arguments


#: What a version has no flag for.
REFUSED = {
    (8, 6, 1): {
        *("build_route", "max_num_tactics", "tiling_optimization_level"),
        *("l2_limit_for_tiling", "strip_plan", "weight_streaming"),
        *("error_on_timing_cache_miss", "disable_compilation_cache", "monitor_memory"),
        *("distributive_independence", "strongly_typed", "plugin_override", "refit_from"),
        *("profile_index", "allocation", "weight_streaming_budget"),
    },
    (10, 16, 0): {"build_route"},
    (11, 1, 0): {
        *("calibration_cache", "precision_constraints", "layer_precisions"),
        *("layer_output_types",),
    },
}
#: What is that version's way already.
NOTHING_TO_SAY = {
    *(("strongly_typed", (11, 1, 0)), ("native_instance_norm", (8, 6, 1))),
    ("runtime_platform", (8, 6, 1)),
}


@pytest.mark.parametrize("version", REFUSED)
@pytest.mark.parametrize("key", [key for key in OPTIONS if key not in WITHOUT_FLAG])
def test_every_option_is_a_flag_of_the_version_or_refused_by_name(key, version) -> None:
    value = VALUES.get(key, "1")
    if key in REFUSED[version]:
        with pytest.raises(UnsupportedError, match="has no --"):
            flags_of(version, **{key: value})
        return
    names = {name_of(one) for one in flags_of(version, **{key: value})}
    assert names <= taken_by(version[:2])
    if (key, version) not in NOTHING_TO_SAY and key != "profiling_verbosity":
        assert names > {"profilingVerbosity"}


def test_the_flags_of_8_6() -> None:
    written = flags_of(
        (8, 6, 1),
        precision="fp16+int8",
        workspace="1GiB",
        memory_pools="dla_local_dram:512KiB",
        tf32="0",
        refit="1",
        direct_io="0",
        native_instance_norm="1",
        plugins="a.so,b.so",
        preview_features="+PROFILE_SHARING_0806",
        opt_shapes="x:4x3",
    )
    assert written == [
        *("--fp16", "--int8", "--optShapes=x:4x3"),
        *("--memPoolSize=workspace:1024,dlaLocalDRAM:0.5", "--noTF32", "--refit"),
        *("--nativeInstanceNorm", "--staticPlugins=a.so", "--staticPlugins=b.so"),
        *("--preview=+profileSharing0806", "--profilingVerbosity=detailed"),
    ]


def test_several_profiles() -> None:
    shapes = {"min_shapes": "x:1;x:8", "opt_shapes": "x:2;x:16", "max_shapes": "x:4;x:32"}
    assert flags_of((10, 16, 0), **shapes)[:8] == [
        *("--profile=0", "--minShapes=x:1", "--optShapes=x:2", "--maxShapes=x:4"),
        *("--profile=1", "--minShapes=x:8", "--optShapes=x:16", "--maxShapes=x:32"),
    ]
    with pytest.raises(UnsupportedError, match="no --profile"):
        flags_of((8, 6, 1), **shapes)
    with pytest.raises(UsageError, match="unequal numbers of them"):
        flags_of((10, 16, 0), min_shapes="x:1;x:8", opt_shapes="x:2")


@pytest.mark.parametrize(
    ("version", "option", "flag"),
    [
        (TRT10, {"native_instance_norm": "0"}, "--pluginInstanceNorm"),
        (TRT10, {"strongly_typed": "1"}, "--stronglyTyped"),
        (TRT10, {"weight_streaming_budget": "auto"}, "--weightStreamingBudget=-1"),
        (TRT10, {"weight_streaming_budget": "off"}, "--weightStreamingBudget=-2"),
        (TRT10, {"weight_streaming_budget": "1024"}, "--weightStreamingBudget=1024B"),
        (TRT10, {"weight_streaming_budget": "2KiB"}, "--weightStreamingBudget=2048B"),
        (TRT10, {"profile_index": "0"}, "--useProfile=0"),
        (TRT10, COMPATIBLE, "--hardwareCompatibilityLevel=sameComputeCapability"),
        (TRT10, {"memory_pools": f"{POOL}:48KiB"}, "--memPoolSize=tacticSharedMem:0.046875"),
        ((8, 6, 1), {"input_formats": "fp16:chw"}, "--inputIOFormats=fp16:chw"),
        ((8, 6, 1), {"log_level": "verbose"}, "--verbose"),
    ],
)
def test_what_an_option_becomes(version, option, flag) -> None:
    assert flag in flags_of(version, **option)


@pytest.mark.parametrize(
    ("version", "option"),
    [
        ((8, 6, 1), {"profile_index": "0"}),
        ((11, 1, 0), {"strongly_typed": "1"}),
        ((10, 16, 0), {"native_instance_norm": "1"}),
        ((10, 16, 0), {"log_level": "info"}),
        ((8, 6, 1), {"tf32": "1"}),
    ],
)
def test_what_says_the_default_is_no_flag(version, option) -> None:
    assert flags_of(version, **option) == ["--profilingVerbosity=detailed"]


@pytest.mark.parametrize(
    ("version", "option", "why"),
    [
        ((11, 1, 0), {"strongly_typed": "0"}, "builds nothing else"),
        ((11, 1, 0), {"input_formats": "fp16:chw"}, "accepts formats only"),
        ((8, 6, 1), COMPATIBLE, "10.0 added it"),
        ((8, 6, 1), {"memory_pools": f"{POOL}:1MiB"}, "10.0 added it"),
        ((8, 6, 1), {"profile_index": "1"}, "no --useProfile"),
    ],
)
def test_what_a_version_cannot_do(version, option, why) -> None:
    with pytest.raises(UnsupportedError, match=why):
        flags_of(version, **option)


def test_a_precision_that_a_version_lacks() -> None:
    gone = "in the precision the model carries; .*--fp16 is gone"
    with pytest.raises(UnsupportedError, match=gone) as caught:
        flags_of((11, 1, 0), precision="fp16")
    assert "modelopt.onnx.autocast" in (caught.value.hint or "")
    with pytest.raises(UnsupportedError, match=r"no --bf16: it came with 9\.0"):
        flags_of((8, 6, 1), precision="bf16")


def test_an_engine_takes_no_build_options_and_its_own_are_no_flags() -> None:
    assert flags_of((10, 16, 0), ENGINE, device="1") == ["--device=1"]
    with pytest.raises(UnsupportedError, match=r"precision fp16, workspace for net\.engine"):
        flags_of((10, 16, 0), ENGINE, "fp16", workspace="1GiB", device="1")
    assert set(OWN) == {"binary", "args"}
    assert flags_of((8, 6, 1), ENGINE, binary="trtexec", args="--avgRuns=3") == []


@pytest.mark.parametrize("key", WITHOUT_FLAG)
def test_keys_without_a_flag_are_refused_by_name(key) -> None:
    with pytest.raises(UsageError, match=f"trtexec: {key}"):
        flags_of((10, 16, 0), **{key: "1"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workspaces": "1GiB"}, "has no option 'workspaces'"),
        ({"workspace": "large"}, "workspace=large"),
        ({"memory_pools": "workspace"}, "memory_pools=workspace"),
        ({"memory_pools": "heap:1MiB"}, "memory_pools=heap"),
        ({"refit": "yes"}, "refit=yes"),
        ({"device": "²"}, "device="),
        ({"sparsity": "some"}, "sparsity=some"),
        ({"persistent_cache_ratio": "2"}, "persistent_cache_ratio=2"),
        ({"persistent_cache_ratio": "half"}, "persistent_cache_ratio=half"),
        ({"preview_features": "+NOTHING"}, "preview_features"),
        ({"weight_streaming_budget": "some"}, "weight_streaming_budget"),
        ({"runtime_platform": "windows_amd64"}, "runtime_platform"),
        ({"opt_shapes": "x"}, "opt_shapes=x"),
        ({"log_level": "error"}, "log_level=error"),
        ({"runtime": "rtx"}, "runtime=rtx"),
        ({"timing_cache": ""}, "timing_cache="),
        ({"args": "fp16"}, "is not an argument of trtexec"),
    ],
)
def test_what_no_version_takes(options, message) -> None:
    with pytest.raises(UsageError, match=message):
        check_options(BackendSpec(name="trtexec", options=options))


def test_precisions_are_checked() -> None:
    with pytest.raises(UsageError, match="no precision 'fp61'") as caught:
        check_options(BackendSpec(name="trtexec", precision="fp61"))
    assert "fp16" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="types of the model"):
        flags_of(TRT10, precision="fp16", strongly_typed="1")
