"""The columns of a plan's data frame, the limits of GPUs, and the charts of the report card."""

from enginescope.analysis.plans.plan_columns import COLUMNS
from enginescope.analysis.report_card.card_data import QUANTITIES
from enginescope.analysis.roofline.roofline import gpu_limits, known_gpus
from enginescope.render.charts.card.registry import PLAN_CHARTS
from tests.docs.reference.marked_page import table

_KINDS = ("FP32", "TF32", "FP16", "FP8", "FP4", "INT8", "INT4")


def columns_part() -> str:
    rows = [
        (f"`{one.name}`", one.unit, one.meaning, f"`{one.trex}`" if one.trex else "")
        for one in COLUMNS
    ]
    return table(("column", "unit", "meaning", "trex"), rows)


def gpus_part() -> str:
    rows = []
    for name in known_gpus():
        gpu = gpu_limits(name)
        rates = (gpu.peak_tflops.get(kind) for kind in _KINDS)
        cells = ("" if rate is None else f"{rate:g}" for rate in rates)
        rows.append((name, f"{gpu.memory_gb_per_s:g}", *cells))
    return table(("GPU", "GB/s", *_KINDS), rows)


def charts_part() -> str:
    rows = [
        (f"`{one.name}`", one.shows, ", ".join(f"`{option}`" for option in one.options))
        for one in PLAN_CHARTS.values()
    ]
    return table(("chart", "shows", "options"), rows)


def quantities_part() -> str:
    rows = [(f"`{one.name}`", one.title, f"`{one.column}`") for one in QUANTITIES.values()]
    return table(("quantity", "meaning", "column"), rows)
