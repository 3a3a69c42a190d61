"""Engines that were really built: against trex's findings, corrected."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from enginescope.core.record import replace
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.records.plan.plan import EXECUTED
from enginescope.rules.base import Finding, Symptom
from enginescope.rules.catalogue import RULES
from enginescope.rules.engine import LintReport, lint
from enginescope.rules.view import LintInput
from tests.rules.made import layer, plan
from tests.trex.examples import EXAMPLES, LINTERS, NOT_FOUND, goldens


@lru_cache
def report_of(path: Path) -> LintReport:
    read = read_plan_files(PlanFiles(plan=path))
    device = read.report.device if read.report else None
    return lint(LintInput(plan=read.plan, profile=read.profile, device=device))


@pytest.fixture
def report(shared: Path) -> Callable[[str], LintReport]:
    return lambda name: report_of(shared / "trex-examples" / f"{name}.graph.json")


def said(report: LintReport) -> list[Finding | Symptom]:
    return [it for one in report.findings for it in (one, *one.symptoms)]


def subjects(report: LintReport, *codes: str) -> set[str]:
    return {one.subject for one in said(report) if one.code in codes}


def messages(report: LintReport, subject: str) -> list[str]:
    return [one.message for one in said(report) if one.subject == subject]


@pytest.mark.parametrize("linter", LINTERS)
@pytest.mark.parametrize("plan", EXAMPLES)
def test_trex_s_findings_are_among_ours_but_for_its_faults(shared, report, plan, linter) -> None:
    theirs = goldens(shared)["plans"][plan]["lint"][linter]["names"]
    missed = set(theirs) - subjects(report(plan), *LINTERS[linter])
    count, _ = NOT_FOUND.get((plan, linter), (0, ""))
    assert len(missed) == count, missed


def test_findings_of_the_examples(report) -> None:
    found = report(EXAMPLES[0])
    name = "features.1.conv.0.0.weight + QuantizeLinear_25 + Conv_29 + PWN(Clip_33)"
    assert "is depthwise and names no tactic: does it use tensor cores?" in messages(found, name)
    name = "features.4.conv.2.weight + QuantizeLinear_187 + Conv_191"
    assert messages(found, name)[0].startswith("reads INT8 and writes FP16")
    name = "features.3.conv.0.0.weight + QuantizeLinear_104 + Conv_108 + PWN(Clip_112)"
    assert "has input channels 24, not a multiple of 16" in messages(found, name)
    name = "features.0.0.weight + QuantizeLinear_8 + Conv_12 + PWN(Clip_16)"
    assert not messages(found, name)  # trex advises to round 3 up to 16
    (one,) = [it for it in found.findings if it.subject == "QuantizeLinear_2"]
    assert one.message == "is a Quantize on its own, FP32 to INT8, of the engine's input"
    assert one.severity.value == "info"
    ranks = [one.saving.rank for one in found.findings]
    assert (ranks, found.sum_ms) == (sorted(ranks), pytest.approx(0.470389, abs=1e-6))
    assert subjects(found, "TIME204")


def test_tensorrt_10(shared) -> None:
    found = report_of(shared / "trt10-rtx3060" / "alexnet_fp16.graph.json")
    first = "/classifier/classifier_1/Gemm_myl9_2"
    assert "does not use tensor cores: a matrix-vector product" in messages(found, first)
    assert subjects(found, "PLAN111") == {"__myl_Res_myl9_1"}
    assert not subjects(found, "TIME203")  # its shape calls are no mismatch


@pytest.mark.parametrize("name", ["resnet18", "resnet18_cudagraph", "depth_anything_small"])
def test_tensorrt_8_6(shared, name) -> None:
    found = report_of(shared / "trt86-h200" / f"{name}.graph.json")
    assert not subjects(found, "PLAN101", "TIME203")
    assert subjects(found, "PLAN104")
    part = {one.split("[")[0] for one in subjects(found, "PLAN118")}
    assert part == ({"{ForeignNode"} if name == "depth_anything_small" else set())


# Rules on graphs that another runtime executed: ONNX Runtime's and OpenVINO's words for layers.


def executed(*layers) -> LintReport:
    return lint(LintInput(plan=replace(plan(*layers), source_schema=EXECUTED)))


def codes(*layers) -> list[str]:
    return [one.code for one in executed(*layers).findings]


def test_only_general_rules_run() -> None:
    product = layer("Conv", "in FP16 1x3x8x8", "out FP16 1x3x8x8", tactic_name="simt")
    assert set(executed(product).rules) == {rule.code for rule in RULES if rule.is_general}


@pytest.mark.parametrize("kind", ["Reorder", "Convert", "ReorderInput"])
def test_a_conversion_between_types(kind) -> None:
    before = layer("Convolution", "in FP32 1x8x4x4", "a FP32 1x8x4x4")
    after = layer("Convolution", "b INT8 1x8x4x4", "out INT8 1x8x4x4")
    found = executed(before, layer(kind, "a FP32 1x8x4x4", "b INT8 1x8x4x4"), after).findings
    assert [one.message for one in found if one.code == "PLAN104"] == ["converts FP32 to INT8"]


def test_findings_of_onnx_runtimes_graphs() -> None:
    layers = (
        layer("Convolution", "in FP32 1x8x4x4 NHWC8", "a FP32 1x8x4x4 NHWC8"),
        layer("Reorder", "a FP32 1x8x4x4 NHWC8", "b FP32 1x8x4x4 NCHW"),
        layer("MVN", "b FP32 1x8x4x4 NCHW", "c FP32 1x8x4x4 NCHW"),
        layer("Reorder", "c FP32 1x8x4x4 NCHW", "d FP32 1x8x4x4 NHWC8"),
        layer("Convolution", "d FP32 1x8x4x4 NHWC8", "out FP32 1x8x4x4 NHWC8"),
    )
    assert codes(*layers) == ["PLAN109"]
    layers = (
        layer("FusedMatMul", "q FP32 1x8x64, k FP32 1x64x8", "s FP32 1x8x8"),
        layer("Add", "s FP32 1x8x8, m FP32 1x8x8", "t FP32 1x8x8"),
        layer("Softmax", "t FP32 1x8x8", "p FP32 1x8x8"),
        layer("MatMul", "p FP32 1x8x8, v FP32 1x8x64", "out FP32 1x8x64"),
    )
    assert codes(*layers) == ["PLAN113"]
    layers = (
        layer("Convolution", "in INT8 1x8x4x4", "a INT8 1x8x4x4"),
        layer("Reorder", "a INT8 1x8x4x4", "b FP32 1x8x4x4"),
        layer("MVN", "b FP32 1x8x4x4", "c FP32 1x8x4x4"),
        layer("Reorder", "c FP32 1x8x4x4", "d INT8 1x8x4x4"),
        layer("Convolution", "d INT8 1x8x4x4", "e INT8 1x8x4x4"),
    )
    assert "PLAN117" in codes(*layers)
