"""The rules as Markdown, from their own docstrings.

The rules, in the order of their codes. A new one is a file in `checks` and a line here.
"""

from __future__ import annotations

from enginescope.rules.base import Rule
from enginescope.rules.checks.copies import (
    constant_copies,
    data_copies,
    equal_format_copy,
    reformat_converts_type,
    reformat_sandwich,
    slice_converts_type,
)
from enginescope.rules.checks.fusion import (
    opaque_block,
    unfused_attention,
    unfused_layer_norm,
)
from enginescope.rules.checks.precision import (
    conv_alignment,
    conv_tensor_cores,
    fp32_left,
    gemm_alignment,
    gemm_tensor_cores,
    precision_island,
    quantized_float_output,
    unfused_qdq,
)
from enginescope.rules.checks.whole import (
    below_roofline,
    cuda_graph,
    far_from_optimum,
    host_shapes,
    profile_mismatch,
    small_batch,
    time_concentrated,
    tiny_kernels,
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
    constant_copies.RULE,
    equal_format_copy.RULE,
    precision_island.RULE,
    opaque_block.RULE,
    unfused_layer_norm.RULE,
    time_concentrated.RULE,
    tiny_kernels.RULE,
    profile_mismatch.RULE,
    below_roofline.RULE,
    small_batch.RULE,
    cuda_graph.RULE,
)


HEADINGS = ("What it looks for", "Why it costs time", "What to do", "When it is wrong")
_INTRODUCTION = """# Rules of `enginescope lint`

<!-- Made from the rules' docstrings by `make reference`. -->

Findings are sorted by the time at stake: what may be won at most, of the layers' own time. Where
the engine was timed without a profiler too, the part of a layer's time that is the profiler's own
is estimated and left out. Where the GPU is known (of the run, of trex's metadata, or by `--gpu`),
PLAN101, PLAN102, PLAN107 and PLAN108 take off what the layer needs at the GPU's peaks for its bytes
and multiplications: a layer near its limit has little to win, whatever its tactic.

Time counts once. What one finding may win of a layer is not at stake in another, so the stakes add
up to no more than the engine takes. A rule may explain others: their findings on the same layers
are symptoms, listed with the cause and not on their own. Where a plan does not prove a claim, the
finding is a question. The terminal and the page show findings of one rule that say the same of
repeated blocks as one line.

The severity is the usual one; a rule may take it down or up, as its text says, and a cause is as
severe as its worst symptom. `enginescope lint` exits with 1 if a finding is a warning or an error;
`--level` changes that.

Rules are told by code, by the beginning of a code (`PLAN1`), or by name, on the command line
(`--select`, `--ignore`) and in `enginescope.toml`:

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
        if rule.explains:
            linked = ", ".join(f"[{code}](#{code.lower()})" for code in rule.explains)
            lines += ["", f"**Explains.** {linked} on the same layers."]
        for heading, text in paragraphs(rule).items():
            lines += ["", f"**{heading}.** {text}"]
    return "\n".join(lines) + "\n"
