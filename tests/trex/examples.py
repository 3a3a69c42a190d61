"""trex's example engines, what trex 0.2.1 says of them, and where our figures differ on purpose.

Each reason for a difference begins with its row in docs/contributing/goldens-differences.md.
"""

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

#: D1: bytes of a ConvActPool layer's kernel.
WEIGHTS_BYTES = {QAT: 9408}
#: D2: ConvActPool layers, and their multiply-accumulates.
CONVOLUTIONS = {QAT: (1, 3_776_446_464)}
#: D5: trtexec rounds each layer's share to six digits; ours are computed from the means.
ROUNDED_SHARES_PCT = 5e-4

#: trex's linter -> our rules that look for the same.
LINTERS = {
    "ConvLinter.tc_lint": ("PLAN101",),
    "ConvLinter.mixed_precision_lint": ("PLAN103",),
    "ConvLinter.alignment_lint": ("PLAN102",),
    "ReformatLinter.lint": ("PLAN104", "PLAN106"),
    "SliceLinter.lint": ("PLAN105",),
    "QDQLinter.lint": ("PLAN106",),
}
#: Plan, linter -> how many of trex's findings are none, and the row that says why.
NOT_FOUND = {
    (FP16, "ConvLinter.tc_lint"): (7, "D6"),
    (RESIDUALS, "ConvLinter.tc_lint"): (3, "D7, D11"),
    (MOBILENET, "ConvLinter.mixed_precision_lint"): (1, "D8"),
    (RESIDUALS, "ConvLinter.mixed_precision_lint"): (1, "D8"),
    (QAT, "ConvLinter.mixed_precision_lint"): (1, "D8"),
    (MOBILENET, "ConvLinter.alignment_lint"): (2, "D11"),
    (RESIDUALS, "ConvLinter.alignment_lint"): (2, "D11"),
    (FP16, "ConvLinter.alignment_lint"): (1, "D11"),
    (FP32, "ConvLinter.alignment_lint"): (1, "D11"),
    (QAT, "ConvLinter.alignment_lint"): (1, "D11"),
    (MOBILENET, "ConvLinter.tc_lint"): (1, "D11"),
}
#: Keys of the goldens without a counterpart -> the row that says why.
NOT_COMPARED = {
    "prefix": "where the file lay",
    "df_dtypes": "D9",
    "sum_time": "D12",
    "sum_median_time": "D12",
    "clean_for_display_columns": "D10",
    "clean_first_inputs": "D10",
}


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
