"""trex's example engines, and what trex 0.2.1 says of them."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from enginescope.analysis.plans.plan_view import Exploration, PlanView, explore
from enginescope.formats.importing.plan_files import PlanFiles, ReadPlan, read_plan_files
from enginescope.rules.engine import LintReport, lint
from enginescope.rules.view import LintInput

MOBILENET = "mobilenet.qat.onnx.engine"
RESIDUALS = "mobilenet_v2_residuals.qat.onnx.engine"
FP16 = "resnet18-a100-fp16.engine"
FP32 = "resnet18-a100-fp32.engine"
QAT = "resnet18-a100-qat-residual.engine"
EXAMPLES = (MOBILENET, RESIDUALS, FP16, FP32, QAT)


class Example(NamedTuple):
    """One engine, read by us, beside what trex makes of it."""

    folder: Path
    name: str
    read: ReadPlan
    view: PlanView
    explored: Exploration
    linted: LintReport
    golden: dict[str, Any]


@lru_cache
def goldens(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "goldens.json").read_bytes())


@lru_cache
def example(shared: Path, name: str) -> Example:
    folder = shared / "trex-examples"
    read = read_plan_files(PlanFiles(plan=folder / f"{name}.graph.json"))
    return Example(
        folder=folder,
        name=name,
        read=read,
        view=PlanView(read.plan, read.profile),
        explored=explore(read.plan.name, read.plan, read.profile),
        linted=lint(
            LintInput(
                plan=read.plan,
                profile=read.profile,
                device=read.report.device if read.report else None,
            )
        ),
        golden=goldens(shared)["plans"][name],
    )
