"""Draw the finding at the head of the README, in light and dark, from a recorded plan.

`python benchmarks/pictures.py` writes docs/images/finding.png and finding-dark.png: how the time of
a ResNet-18 engine (TensorRT 8.6, FP16, NVIDIA H200) is spread over the types of its layers.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import vl_convert
from PIL import Image

import enginescope as es

ROOT = Path(__file__).resolve().parents[1]
PLAN = ROOT / "tests" / "data" / "trt86-h200" / "resnet18.graph.json"
#: Layers that change the layout of a tensor and compute nothing.
LAYOUT = ("MyelinReformat", "Reformat")
#: background, text, highlighted bar (Okabe and Ito's vermilion), other bars
THEMES = {
    "finding": ("#ffffff", "#222222", "#d55e00", "#9aa5b1"),
    "finding-dark": ("#0d1117", "#e6edf3", "#d55e00", "#56616d"),
}


def rows_of(plan: Any) -> list[dict[str, Any]]:
    """Return time in µs, layers and share of each type, the longest first."""
    columns = plan.columns()
    pairs = list(zip(columns["type"], columns["latency.avg_time"], strict=True))
    rows = []
    for kind in sorted({kind for kind, _ in pairs}):
        times = [time_ms for of, time_ms in pairs if of == kind]
        us, share = 1000 * sum(times), sum(times) / plan.total_ms
        rows.append({"kind": kind, "count": len(times), "us": us, "share": share})
    return sorted(rows, key=lambda row: -row["us"])


def spec_of(rows: list[dict[str, Any]], theme: str) -> dict[str, Any]:
    """Return the chart as Vega-Lite."""
    background, text, accent, plain = THEMES[theme]
    layout = sum(row["share"] for row in rows if row["kind"] in LAYOUT)
    count = sum(row["count"] for row in rows if row["kind"] in LAYOUT)
    for row in rows:
        row["label"] = f"{row['kind']} ({row['count']})"
        row["text"] = f"{row['us']:.0f} µs · {100 * row['share']:.0f} %"
    order = [row["label"] for row in rows]
    y = {"field": "label", "type": "nominal", "sort": order, "title": None}
    x = {"field": "us", "type": "quantitative", "title": "µs per request, sum of the layers"}
    color = {
        "condition": {"test": {"field": "kind", "oneOf": list(LAYOUT)}, "value": accent},
        "value": plain,
    }
    return {
        "background": background,
        "padding": 16,
        "width": 560,
        "height": 150,
        "title": {
            "text": f"{100 * layout:.0f} % of this engine's time goes into {count} reformat layers",
            "subtitle": "ResNet-18, FP16, TensorRT 8.6, NVIDIA H200. Reformats only move data.",
            "anchor": "start",
            "color": text,
            "subtitleColor": text,
            "fontSize": 17,
            "subtitleFontSize": 13,
            "offset": 12,
        },
        "data": {"values": rows},
        "encoding": {"y": y, "x": {**x, "scale": {"domain": [0, 1.18 * rows[0]["us"]]}}},
        "layer": [
            {"mark": {"type": "bar", "height": 24}, "encoding": {"color": color}},
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "color": text, "fontSize": 13},
                "encoding": {"text": {"field": "text"}},
            },
        ],
        "config": {
            "font": "DejaVu Sans",
            "view": {"stroke": None},
            "axis": {"labelColor": text, "titleColor": text, "grid": False, "labelFontSize": 13,
                     "titleFontSize": 12, "domainColor": plain, "tickColor": plain,
                     "labelLimit": 260},
        },
    }  # fmt: skip


def main() -> None:
    """Write both pictures."""
    rows = rows_of(es.open_plan(PLAN))
    for theme in THEMES:
        spec = json.dumps(spec_of(rows, theme))
        path = ROOT / "docs" / "images" / f"{theme}.png"
        drawn = Image.open(io.BytesIO(vl_convert.vegalite_to_png(spec, scale=2)))
        drawn.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
