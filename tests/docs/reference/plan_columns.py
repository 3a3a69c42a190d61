"""The columns of a plan's data frame, and the limits of GPUs."""

from enginescope.analysis.plans.plan_columns import COLUMNS
from enginescope.analysis.roofline.roofline import gpu_limits, known_gpus
from tests.docs.reference.marked_page import table

_KINDS = ("FP32", "TF32", "FP16", "FP8", "FP4", "INT8", "INT4")


def columns_part() -> str:
    """Return the columns with their units, meanings and names in trex."""
    rows = [
        (f"`{one.name}`", one.unit, one.meaning, f"`{one.trex}`" if one.trex else "")
        for one in COLUMNS
    ]
    return table(("column", "unit", "meaning", "trex"), rows)


def gpus_part() -> str:
    """Return the peaks of each GPU."""
    rows = []
    for name in known_gpus():
        gpu = gpu_limits(name)
        rates = (gpu.peak_tflops.get(kind) for kind in _KINDS)
        cells = ("" if rate is None else f"{rate:g}" for rate in rates)
        rows.append((name, f"{gpu.memory_gb_per_s:g}", *cells))
    return table(("GPU", "GB/s", *_KINDS), rows)
