"""docs/plan-columns.md lists the columns there are; ``python -m tests.docs.test_plan_columns``
writes the list anew.
"""

from __future__ import annotations

from pathlib import Path

from enginescope.analysis.plans.plan_column_table import COLUMNS
from enginescope.analysis.roofline.gpu_limits import gpu_limits, known_gpus

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan-columns.md"


def columns_table() -> str:
    """The columns as a Markdown table."""
    rows = (
        f"| `{one.name}` | {one.unit} | {one.meaning} | {f'`{one.trex}`' if one.trex else ''} |"
        for one in COLUMNS
    )
    return "\n".join(("| column | unit | meaning | trex |", "|---|---|---|---|", *rows))


def gpus_table() -> str:
    """The GPUs and their peaks as a Markdown table."""
    kinds = ("FP32", "TF32", "FP16", "FP8", "FP4", "INT8", "INT4")
    lines = [f"| GPU | GB/s | {' | '.join(kinds)} |", "|---|---|" + "---|" * len(kinds)]
    for name in known_gpus():
        gpu = gpu_limits(name)
        assert gpu is not None
        rates = (gpu.peak_tflops.get(kind) for kind in kinds)
        cells = " | ".join("" if rate is None else f"{rate:g}" for rate in rates)
        lines.append(f"| {name} | {gpu.memory_gb_per_s:g} | {cells} |")
    return "\n".join(lines)


PARTS = {"columns": columns_table, "gpus": gpus_table}


def with_tables(text: str) -> str:
    """The page with its tables as the code has them."""
    for part, table in PARTS.items():
        begin, end = f"<!-- begin of the {part} -->", f"<!-- end of the {part} -->"
        head, found_begin, rest = text.partition(begin)
        _, found_end, tail = rest.partition(end)
        assert found_begin, f"{PAGE.name} has no place for the {part}"
        assert found_end, f"{PAGE.name} does not say where the {part} end"
        text = f"{head}{begin}\n{table()}\n{end}{tail}"
    return text


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_tables(text), "run python -m tests.docs.test_plan_columns"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
