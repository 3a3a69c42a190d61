"""The rules as Markdown, from their own docstrings.

The rules, in the order of their codes. A new one is a file in `checks` and a line here.
"""

from __future__ import annotations

from enginescope.rules.base import Rule
from enginescope.rules.checks import (
    below_roofline,
    conv_alignment,
    conv_tensor_cores,
    data_copies,
    far_from_optimum,
    fp32_left,
    gemm_alignment,
    gemm_tensor_cores,
    host_shapes,
    profile_mismatch,
    quantized_float_output,
    reformat_converts_type,
    reformat_sandwich,
    slice_converts_type,
    time_concentrated,
    tiny_kernels,
    unfused_attention,
    unfused_qdq,
)

RULES: tuple[Rule, ...] = (
    conv_tensor_cores.RULE,
    conv_alignment.RULE,
    quantized_float_output.RULE,
    reformat_converts_type.RULE,
    slice_converts_type.RULE,
    unfused_qdq.RULE,
    gemm_tensor_cores.RULE,
    gemm_alignment.RULE,
    reformat_sandwich.RULE,
    fp32_left.RULE,
    data_copies.RULE,
    host_shapes.RULE,
    unfused_attention.RULE,
    far_from_optimum.RULE,
    time_concentrated.RULE,
    tiny_kernels.RULE,
    profile_mismatch.RULE,
    below_roofline.RULE,
)


HEADINGS = ("What it looks for", "Why it costs time", "What to do", "When it is wrong")
_INTRODUCTION = """# Rules of `enginescope lint`

<!-- Made from the rules' docstrings by `make reference`. -->

`enginescope lint` sorts findings by the time at stake: the most that a change can save. It is the
mean time of the layers. If the GPU is known (from the run, trex's metadata or `--gpu`), PLAN101,
PLAN102, PLAN103, PLAN107 and PLAN108 subtract the time that the layer needs at the GPU's peaks.
Findings may share layers, so the times do not add up. A rule may raise or lower its usual severity,
as its text says. `enginescope lint` exits with 1 on a warning or an error; `--level` changes that.

Name rules by code, by the start of a code (`PLAN1`), or by name, on the command line (`--select`,
`--ignore`) and in `enginescope.toml`:

```toml
[lint]
ignore = ["data-copies"]
level = "error"

[lint.layers]  # names of layers, with * and ?
"/head/*" = ["PLAN110"]
```
"""


def paragraphs(rule: Rule) -> dict[str, str]:
    """Return a rule's paragraphs by heading, each on one line."""
    found = {}
    for paragraph in rule.doc.strip().split("\n\n")[1:]:
        heading, _, text = " ".join(paragraph.split()).partition(": ")
        found[heading] = text[:1].upper() + text[1:]
    return found


def catalogue(rules: tuple[Rule, ...] = RULES) -> str:
    """Return the catalogue, ending in a newline."""
    lines = [
        _INTRODUCTION,
        "| code | name | severity | what |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [{rule.code}](#{rule.code.lower()}) | `{rule.name}` | {rule.severity.value} | "
        f"{rule.summary} |"
        for rule in rules
    ]
    for rule in rules:
        lines += ["", f"## {rule.code}", "", f"`{rule.name}`: {rule.summary}."]
        for heading, text in paragraphs(rule).items():
            lines += ["", f"**{heading}.** {text}"]
    return "\n".join(lines) + "\n"
