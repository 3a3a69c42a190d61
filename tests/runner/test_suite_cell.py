"""What a cell is refused for before anything is started."""

from __future__ import annotations

import pytest

from enginescope.model.environment import Device
from enginescope.runner import suite_cell
from tests.runner.fleet.cells import cell


@pytest.mark.parametrize(
    ("wanted", "there", "is_refused"),
    [
        ("NVIDIA-H200", "NVIDIA H200", False),
        ("a100", "NVIDIA A100-SXM4-80GB", False),
        ("A100", "NVIDIA RTX A1000", True),
        ("L4", "NVIDIA L40", True),
    ],
)
def test_a_kind_of_gpu_is_told_by_its_words_as_on_a_fleet(
    monkeypatch, wanted, there, is_refused
) -> None:
    monkeypatch.setattr(suite_cell, "probe_devices", lambda: (Device(name=there),))
    refused = suite_cell.refusal_of(cell(gpu=wanted))
    assert (refused is not None) is is_refused
    if refused is not None:
        assert refused.message == f"it asks for a GPU called {wanted}; here is {there}"


def test_without_a_gpu_that_is_said(monkeypatch) -> None:
    monkeypatch.setattr(suite_cell, "probe_devices", lambda: ())
    refused = suite_cell.refusal_of(cell(gpu="H200"))
    assert refused is not None
    assert refused.message == "it asks for a GPU called H200; here is none that is seen"
