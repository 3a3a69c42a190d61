"""The page on providers names what there is."""

from pathlib import Path

import pytest

from enginescope.backends.onnxruntime import options
from enginescope.backends.onnxruntime.providers import providers
from enginescope.backends.registry import BACKENDS, FAMILIES
from enginescope.records.run.metric import METRICS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "providers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [one for one in BACKENDS.built_in if one.startswith("ort-")])
def test_every_backend_has_a_row(name) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_row(family) -> None:
    assert f"| `{family}:NAME` |" in PAGE


@pytest.mark.parametrize("option", [*options._OWN, *options.SESSION_OPTIONS])
def test_every_option_of_ours_is_named(option) -> None:
    assert f"`{option}`" in PAGE


def test_precisions_with_a_switch_are_listed() -> None:
    for precision in providers.TENSORRT.switches:
        assert f":{precision}`" in PAGE


def test_the_metric_without_copies_is_explained() -> None:
    assert "| `device_latency` |" in PAGE
    assert "device_latency" in METRICS
