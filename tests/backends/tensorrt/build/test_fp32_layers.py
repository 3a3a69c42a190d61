"""Layers that stay in FP32 in a build that may use less."""

from types import SimpleNamespace

import pytest

from enginescope.backends.tensorrt.build.config import Target, apply_options
from enginescope.core.errors import UnsupportedError, UsageError
from tests.backends.tensorrt.driving import build, job, report
from tests.fakes import models
from tests.fakes.driving import Build


def built(each: SimpleNamespace, path) -> Build:
    made = Build(each, path)
    assert made.parsed
    return made


def layers(made: Build) -> dict[str, object]:
    network = made.network
    found = [network.get_layer(at) for at in range(network.num_layers)]
    return {one.name: one for one in found}


def target_of(fake: SimpleNamespace, made: Build) -> Target:
    return Target(
        libraries=SimpleNamespace(trt=fake.trt),
        builder=made.builder,
        network=made.network,
        config=made.config,
    )


def keep(fake: SimpleNamespace, made: Build, *names: str) -> None:
    apply_options(target_of(fake, made), {"keep_fp32": names})


@pytest.mark.parametrize("version", ["8.6.0", "10.16.1"])
def test_named_layers_compute_and_return_fp32_and_no_others(use, tmp_path, version) -> None:
    fake = use(version)
    made = built(fake, models.perceptron(tmp_path / "net.onnx"))
    keep(fake, made, "product", "folded-away")
    found = layers(made)
    assert found["product"].precision_is_set
    assert found["product"].precision == fake.trt.DataType.FLOAT
    assert found["product"].output_type_is_set(0)
    assert not found["activation"].precision_is_set
    assert made.config.get_flag(fake.trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)


def test_patterns_and_what_matches_nothing(use, tmp_path) -> None:
    fake = use("8.6.0")
    made = built(fake, models.perceptron(tmp_path / "net.onnx"))
    keep(fake, made, "act*")
    assert layers(made)["activation"].precision_is_set
    with pytest.raises(UsageError, match="no layer of this name"):
        keep(fake, made, "elsewhere")


@pytest.mark.parametrize("is_first", [True, False])
def test_fp32_layers_win_over_a_precision_for_all_layers(use, tmp_path, is_first) -> None:
    """The order of the options on the command line does not matter."""
    fake = use("10.16.1")
    made = built(fake, models.perceptron(tmp_path / "net.onnx"))
    values = {
        "keep_fp32": ("product",),
        "layer_precisions": (("*", "fp16"),),
        "layer_output_types": (("*", "fp16"),),
    }
    if not is_first:
        values = dict(reversed(values.items()))
    apply_options(target_of(fake, made), values)
    found = layers(made)
    assert found["product"].precision == fake.trt.DataType.FLOAT
    assert found["product"].get_output_type(0) == fake.trt.DataType.FLOAT
    assert found["activation"].precision == fake.trt.DataType.HALF


def test_the_option_is_the_engines_and_ends_with_weak_typing(each, perceptron, engines) -> None:
    one = job(perceptron, "fp16", engine_cache=str(engines), keep_fp32="product")
    if each.trt.__version__.startswith("11"):
        with pytest.raises(UnsupportedError):
            build(one)
        plain = job(perceptron, engine_cache=str(engines), keep_fp32="product")
        with pytest.raises(UnsupportedError, match="strongly typed networks only"):
            build(plain)
        return
    assert report(build(one)).options == {"keep_fp32": "product"}
