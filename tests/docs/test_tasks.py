"""docs/reference/tasks.md has the options and metrics of every task."""

from pathlib import Path

import msgspec
import pytest

from enginescope.analysis.tasks import classification, depth, detection, segmentation

DOCS = Path(__file__).resolve().parents[2] / "docs"
TASKS = (DOCS / "reference" / "tasks.md").read_text(encoding="utf-8")
OPTIONS = {
    "depth": depth.DepthOptions,
    "classification": classification.ClassificationOptions,
    "segmentation": segmentation.SegmentationOptions,
    "detection": detection.DetectionOptions,
}
METRICS = {
    "depth": depth.METRICS,
    "classification": classification.METRICS,
    "segmentation": segmentation.METRICS,
    "detection": detection.METRICS,
}


def section(name: str) -> str:
    return TASKS.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_and_metrics(name: str) -> None:
    text = section(name)
    for one in msgspec.structs.fields(OPTIONS[name]):
        assert f"`{one.name}" in text, one.name
    for metric in METRICS[name]:
        assert f"`{metric.name}`" in text, metric.name
