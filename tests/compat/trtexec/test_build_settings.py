import pytest

from enginescope.core.errors import UsageError
from enginescope.formats.trtexec.trtexec_flags import read_options, read_precision
from tests.compat.trtexec.runs import settings


def options(*flags: str, trt: str = "10.16.1") -> dict[str, str]:
    found = settings(*flags, trt=trt).options
    read_options(found)  # the backend takes every one
    return found


def test_the_defaults_are_trtexecs() -> None:
    assert options() == {"profiling_verbosity": "layer_names_only", "log_level": "info"}
    assert "max_aux_streams" not in options("--maxAuxStreams=-1")


def test_flags_with_a_value_and_switches() -> None:
    found = options(
        *("--builderOptimizationLevel=5", "--maxAuxStreams=0", "--noTF32", "--vc", "--verbose"),
        *("--timingCacheFile=c.bin", "--tacticSources=-CUDNN,+JIT_CONVOLUTIONS", "--device=1"),
        *("--persistentCacheRatio=0.5", "--pi"),
    )
    wanted = {"builder_optimization_level": "5", "max_aux_streams": "0", "tf32": "0"}
    wanted |= {"version_compatible": "1", "timing_cache": "c.bin", "log_level": "verbose"}
    wanted |= {"tactic_sources": "-CUDNN,+JIT_CONVOLUTIONS", "device": "1"}
    wanted |= {"persistent_cache_ratio": "0.5", "native_instance_norm": "0"}
    assert wanted.items() <= found.items()


def test_sizes_of_pools() -> None:
    found = options("--memPoolSize=workspace:1G,dlaSRAM:0.5,tacticSharedMem:512K")
    assert found["memory_pools"] == (
        "workspace:1073741824B,dla_managed_sram:524288B,tactic_shared_memory:524288B"
    )
    assert options("--workspace=2", trt="8.6.1")["memory_pools"] == "workspace:2097152B"


@pytest.mark.parametrize("text", ["8.6.1", "10.16.1"])
def test_mebibytes_are_what_they_say(text) -> None:
    found = settings("--memPoolSize=workspace:4096MiB", trt=text)
    assert found.options["memory_pools"] == f"workspace:{4096 * 2**20}B"


def test_a_suffix_before_10_is_refused_rather_than_misread() -> None:
    with pytest.raises(UsageError, match="'1G' has a suffix") as caught:
        options("--memPoolSize=workspace:1G", trt="8.6.1")
    assert caught.value.hint == "the size in MiB: 1024"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--memPoolSize=workspce:1",), "workspce"),
        (("--memPoolSize=workspace",), "workspace"),
        (("--memPoolSize=workspace:1T",), "'1T' is not a size"),
        (("--preview=profileSharing0806",), "--preview"),
        (("--preview=+sharing",), "--preview"),
        (("--sparsity=some",), "--sparsity=some"),
        (("--hardwareCompatibilityLevel=all",), "--hardwareCompatibilityLevel=all"),
        (("--runtimePlatform=Linux",), "--runtimePlatform=Linux"),
        (("--weightStreamingBudget=120%",), "must be in 0…100 %"),
        (("--weightStreamingBudget=much",), "is not a size"),
        (("--allowWeightStreaming",), "without --stronglyTyped"),
        (("--fp8", "--int8"), "TensorRT does not mix them"),
        (("--best", "--stronglyTyped"), "the network's own types are kept"),
        (("--staticPlugins=a,b.so",), "a comma in a path"),
    ],
)
def test_values_that_cannot_be(flags, message) -> None:
    with pytest.raises(UsageError, match=message):
        settings(*flags)


def test_words_become_the_backends_own() -> None:
    found = options(
        *("--preview=+profileSharing0806,-aliasedPluginIO1003", "--profilingVerbosity=verbose"),
        *("--hardwareCompatibilityLevel=ampere+", "--runtimePlatform=windowsamd64"),
        *("--stronglyTyped", "--allowWeightStreaming"),
    )
    wanted = {"preview_features": "+PROFILE_SHARING_0806,-ALIASED_PLUGIN_IO_10_03"}
    wanted |= {"hardware_compatibility": "ampere_plus", "runtime_platform": "windows_amd64"}
    wanted |= {"profiling_verbosity": "detailed", "strongly_typed": "1", "weight_streaming": "1"}
    assert wanted.items() <= found.items()


def test_stripped_weights_and_plugins() -> None:
    assert "refit" not in options("--stripWeights")
    assert options("--stripWeights")["refit_identical"] == "1"
    assert options("--weightless")["strip_plan"] == "1"
    assert "refit_identical" not in options("--stripWeights", "--refit")
    assert options("--stripAllWeights")["refit"] == "1"
    found = options("--staticPlugins=a.so", "--dynamicPlugins=b.so", "--setPluginsToSerialize=b.so")
    assert (found["plugins"], found["serialize_plugins"]) == ("a.so,b.so", "b.so")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("-1", "auto"), ("-2", "off"), ("50%", "50%"), ("2M", "2097152"), ("12", "12")],
)
def test_the_budget_of_streamed_weights(given, wanted) -> None:
    assert options(f"--weightStreamingBudget={given}")["weight_streaming_budget"] == wanted


def test_precisions_are_joined() -> None:
    assert settings("--fp16", "--int8", "--fp16").precision == "fp16+int8"
    assert read_precision(settings("--best").precision) == ("best",)
    assert settings().precision is None
    ignored = settings("--fp16", "--stronglyTyped")
    assert ignored.precision is None
    assert ignored.warnings == ("--fp16 has no effect with --stronglyTyped",)
