"""Where figures differ from trex's on purpose; as in docs/contributing/goldens-differences.md.

Each reason begins with the code of its row in that table.
"""

from tests.trex.examples import FP16, FP32, MOBILENET, QAT, RESIDUALS

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
