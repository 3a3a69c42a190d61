"""Charts: their parts, tooltips, and images as PNG and SVG."""

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import starmap
from textwrap import wrap
from typing import Any, TypeAlias

import numpy as np

from enginescope.core.errors import EnginescopeError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.judge.units import format_significant
from enginescope.render.base import palette
from enginescope.render.base.figures import TextTable

#: A Vega-Lite specification without size and configuration.
Spec: TypeAlias = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_FIGURE = re.compile(r"[-−+]?[\d.,]+(\D*$| …)|—?$")


class ChartTable(Record, frozen=True, kw_only=True):
    """What a picture shows, for readers of tables."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Columns that hold figures alone; what is not known is one."""
        columns = enumerate(zip(*self.rows, strict=True))
        return tuple(at for at, column in columns if all(map(_FIGURE.match, column)))


class Panel(Record, frozen=True, kw_only=True):
    """One map: a data URI, and what its colors go from and to."""

    title: str
    image: str
    range_text: str


class Panels(Record, frozen=True, kw_only=True):
    """Maps beside each other."""

    title: str
    panels: tuple[Panel, ...]


class Chart(Record, frozen=True, kw_only=True):
    """One picture.

    Attributes:
        key: ``"latency_hist"``, …; the name of its file and its element.
        title: What is seen.
        subtitle: Lines that qualify it.
        spec: Vega-Lite, without title, size and configuration.
        table: ``None`` where the page has the same figures in a table anyway.
        height: Pixels of the plotting area; of each, where there are several above each other.
        is_wide: Whether it takes the page's whole width; else two of them may stand beside each
            other.
    """

    key: str
    title: str
    spec: Spec
    subtitle: tuple[str, ...] = ()
    table: ChartTable | None = None
    height: int = 260
    is_wide: bool = False

    @property
    def figures(self) -> TextTable | None:
        """What the picture shows, as a table of the page."""
        table = self.table
        if table is None:
            return None
        title, numbers = f"{self.title}: data", tuple(table.headers[at] for at in table.numbers)
        return TextTable(title=title, headers=table.headers, rows=table.rows, numbers=numbers)

    @property
    def box_height(self) -> int:
        """Pixels of a page that the picture takes: its plotting areas, axes and legends."""
        parts = self.spec.get("vconcat", (self.spec,))
        heights = (int(part.get("height", self.height)) for part in parts)
        axis = 52  # ticks, labels, title
        return sum(height + axis for height in heights) + sum(map(_legend_height, parts))

    def complete(self, *, width: int | str = "container", titled: bool = True) -> Spec:
        """Return the specification with its size, and its title unless `titled` is false.

        In a container it fills exactly `box_height`, and the entries of its legend switch series.
        """
        spec = self.spec
        lines = [line for text in self.subtitle for line in wrap(text, 120)]
        title = {"title": {"text": self.title, "subtitle": lines}} if titled else {}
        if "vconcat" in spec:  # pictures above each other have a size each
            size = {"width": width, "height": self.height}
            stacked = [{**size, **part} for part in spec["vconcat"]]
            return {"$schema": SCHEMA, **title, "vconcat": stacked}
        if width != "container":
            return {"$schema": SCHEMA, **title, "width": width, "height": self.height, **spec}
        size = {"width": width, "height": self.box_height}
        # its last label is not cut
        padding = {"left": 5, "top": 5, "right": palette.LABEL_BOUND, "bottom": 5}
        fit = {"autosize": {"type": "fit", "contains": "padding"}, "padding": padding}
        return {"$schema": SCHEMA, **title, **size, **fit, **_switchable(spec)}


def _parts(spec: Spec) -> list[Spec]:
    return [part for one in spec.get("layer", ()) for part in _parts(one)] or [spec]


def _legend_height(spec: Spec) -> int:
    heights: dict[str, int] = {}
    for part in _parts(spec):
        for name in ("color", "shape", "strokeDash", "size", "opacity"):
            channel = part.get("encoding", {}).get(name, {})
            legend = channel.get("legend", {})
            if "field" not in channel or legend is None:
                continue
            rows = len(channel.get("scale", {}).get("domain", ())) if "columns" in legend else 1
            height = 20 * (rows + (channel["type"] == "quantitative")) + 18
            side = legend.get("orient", "bottom")
            heights[side] = max(height, heights.get(side, 0))
    return sum(heights.values())


def _switchable(spec: Spec) -> Spec:
    """Return the specification with a legend that switches its series, if it names any."""
    for part in _parts(spec):
        color = part.get("encoding", {}).get("color", {})
        if color.get("type") == "nominal" and color.get("legend", {}) is not None:
            field = color["field"]
            break
    else:
        return spec
    chosen = {"name": "shown", "select": {"type": "point", "fields": [field]}, "bind": "legend"}
    shade = {"condition": {"param": "shown", "value": 1}, "value": 0.1}

    def switched(part: Spec) -> Spec:
        nonlocal chosen
        if "layer" in part:
            return {**part, "layer": [switched(inner) for inner in part["layer"]]}
        encoding = part.get("encoding", {})
        if encoding.get("color", {}).get("field") != field or "opacity" in encoding:
            return part
        params = [*part.get("params", ()), *([chosen] if chosen else ())]
        chosen = {}
        return {**part, "params": params, "encoding": {**encoding, "opacity": shade}}

    return switched(spec)


def zoomable(layers: Sequence[Spec]) -> Spec:
    """Return layers whose x axis zooms: drag to move, the wheel with Ctrl (or two fingers)."""
    wheel = "wheel![event.ctrlKey || event.metaKey]"
    select = {"type": "interval", "encodings": ["x"], "zoom": wheel}
    zoom = {"name": "zoom", "select": select, "bind": "scales"}
    # Vega-Lite binds a scale through one layer, and none whose x is binned.
    channels = [layer.get("encoding", {}).get("x") for layer in layers]
    at = next(at for at, x in enumerate(channels) if x is not None and "bin" not in x)
    bound = {**layers[at], "params": [*layers[at].get("params", ()), zoom]}
    return {"layer": [*layers[:at], bound, *layers[at + 1 :]], "usermeta": {"zooms": True}}


#: What a page sets to the name of the layer that a reader has chosen.
PICKED = "picked"


def picked(spec: Spec) -> Spec:
    """Return layers whose first frames the bar whose field ``name`` is the chosen layer's."""
    is_picked = f"datum.name === {PICKED}"
    frame = {
        "stroke": {"condition": {"test": is_picked, "value": "currentColor"}, "value": None},
        "strokeWidth": {"condition": {"test": is_picked, "value": 2}, "value": 0},
    }
    bar, *others = spec["layer"]
    framed = {**bar, "encoding": {**bar["encoding"], **frame}}
    params = [*spec.get("params", ()), {"name": PICKED, "value": None}]
    return {**spec, "params": params, "layer": [framed, *others]}


#: As many ticks of an x axis as have room for their labels.
X_TICKS: Spec = {"tickCount": {"expr": "clamp(floor(width / 75), 2, 8)"}}


def marks(rows: list[Spec] | None, mark: Spec, **channels: Any) -> Spec:
    """Return one layer of a picture: its rows, how they are drawn, and by which channels.

    Args:
        rows: ``None``: those of the whole picture.
    """
    data = {} if rows is None else {"data": {"values": rows}}
    return {**data, "mark": mark, "encoding": channels}


def quantity(field: str, title: str, **more: Any) -> Spec:
    """Return a quantitative channel; the title carries the unit."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def category(field: str, of: Mapping[str, object], **more: Any) -> Spec:
    """Return a nominal channel; `of` has the color, mark or dashes of each of its values."""
    scale = {"domain": [*of], "range": [*of.values()]}
    return {"field": field, "type": "nominal", "scale": scale, **more}


def tooltip(**titles: str) -> list[Spec]:
    """Return tooltip fields, ``field="title"``; numbers with a unit show four significant figures.

    Those without one are counts, and show six.
    """
    fields = []
    for field, title in titles.items():
        digits = 4 if ", " in title else 6
        number = {"type": "quantitative", "format": f",.{digits}~g"} if title.endswith("#") else {}
        fields.append({"field": field, "title": title.removesuffix("#"), **number})
    return fields


_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def recompressed(png: bytes) -> bytes:
    """Return `png` with its image data deflated anew, other chunks as they are.

    The converter writes fast and large: flat charts come out at a third to a quarter. Level
    9 of zlib would take twice as long as level 8, for at most a twenty-fifth.
    """
    chunks, at = [], len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += length + 12
    packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    data = zlib.compress(zlib.decompress(packed), 8)
    first = next(at for at, (kind, _) in enumerate(chunks) if kind == b"IDAT")
    others = [chunk for chunk in chunks if chunk[0] != b"IDAT"]
    made = (*others[:first], (b"IDAT", data), *others[first:])
    return _SIGNATURE + b"".join(starmap(_chunk, made))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_bytes(chart: Chart, scale: float = 2.0) -> bytes:
    """Return a chart as PNG on white.

    Args:
        scale: Pixels a unit.
    """
    return recompressed(_converted(chart, "png", scale=scale))


def svg_text(chart: Chart) -> str:
    """Return a chart as SVG on white; raises what `png_bytes` raises."""
    return str(_converted(chart, "svg"))


def vega_spec(chart: Chart) -> dict[str, Any]:
    """Return a chart compiled from Vega-Lite to Vega, on white; raises what `png_bytes` raises."""
    return dict(_converted(chart, "vega"))


def _converted(chart: Chart, to: str, **options: Any) -> Any:
    converter = require("vl_convert", purpose="drawing plots", install="enginescope[plots]")
    try:
        return getattr(converter, f"vegalite_to_{to}")(
            vl_spec={**chart.complete(width=760), "padding": 18},
            vl_version="6.1",  # the page carries a later 6.x of its own
            config={**palette.chart_config(palette.LIGHT), "font": palette.PICTURE_FONT},
            **options,
        )
    except ValueError as error:
        raise EnginescopeError(f"cannot draw {chart.key}", why=str(error)) from error


def svg_png(text: str, scale: float) -> bytes:
    """Return an SVG as PNG, `scale` pixels a unit."""
    converter = require("vl_convert", purpose="writing PNG", install="enginescope[plots]")
    try:
        png: bytes = converter.svg_to_png(text, scale=scale, ppi=72)
    except ValueError as error:
        raise EnginescopeError("cannot turn the SVG into a PNG", why=str(error)) from error
    return recompressed(png)


_VIRIDIS = np.array([palette.channels_of(one) for one in palette.AMOUNT_STOPS], dtype=np.float64)


def heat_png(values: Any, low: float, high: float) -> bytes:
    """Return a map of numbers, height × width, in viridis from `low` to `high`; NaN is gray."""
    places = np.linspace(low, max(high, np.nextafter(low, np.inf)), len(_VIRIDIS))
    colors = np.stack([np.interp(values, places, one) for one in _VIRIDIS.T], axis=-1)
    return rgb_png(np.where(np.isfinite(values)[..., None], colors, 128).astype(np.uint8))


def rgb_png(pixels: Any) -> bytes:
    """Return bytes, height × width × 3, as a PNG file."""
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0))).tobytes()
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return _SIGNATURE + b"".join(starmap(_chunk, parts))


def with_tips(rows: Sequence[Spec], titles: Mapping[str, str]) -> tuple[list[Spec], list[Spec]]:
    """Return the rows and the tooltip over them.

    Vega writes a number that is missing as 0; where any is, the numbers of that field become texts
    in a field of their own.

    Args:
        titles: As in `tooltip`.
    """
    unknown = [field for field in titles if any(row[field] is None for row in rows)]
    fields = dict(
        (f"{field}_text", title.removesuffix("#")) if field in unknown else (field, title)
        for field, title in titles.items()
    )
    told = [{**row, **{f"{field}_text": _text(row[field]) for field in unknown}} for row in rows]
    return told, tooltip(**fields)


def _text(value: object) -> str:
    if value is None:
        return "—"
    return format_significant(value, 6) if isinstance(value, (int, float)) else str(value)
