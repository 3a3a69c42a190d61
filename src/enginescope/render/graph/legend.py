"""What a drawing explains of itself: colours, shapes and lines that occur in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from enginescope.render.graph.drawing import Drawing
from enginescope.render.graph.edge_words import flow_of
from enginescope.render.graph.faces import is_reformat
from enginescope.render.graph.paint import Paint

_SWATCH = '<rect class="box" x="0" y="-7" width="16" height="14" rx="3"/>'
_ROUND = _SWATCH.replace('rx="3"', 'rx="7"')
_LINE = '<path d="M0 0H16"/>'
_FORK = '<path d="M0 0H6C10 0 10 -5 16 -5M6 0C10 0 10 5 16 5"/>'


def legend(drawing: Drawing, colors: Paint) -> Iterator[tuple[str, str, str]]:
    """Yield classes, shape and words of each thing there is to be explained."""
    graph = drawing.graph
    for number, one in enumerate(colors.categories):
        yield f"n k{number}", _SWATCH, one.text
    if any(map(is_reformat, graph.nodes)):
        yield "n r", _ROUND, "reformat: changes type or layout only"
    if any(node.generation is not None for node in graph.nodes):
        yield "n io", _SWATCH, "region: memory that is written more than once"
    if max(Counter(map(flow_of, graph.edges)).values(), default=0) > 1:
        yield "e", _FORK, "fork: one tensor, several readers"
    kinds = {edge.kind for edge in graph.edges}
    if "reuse" in kinds:
        yield "e reuse", _LINE, "same memory, written anew"
    if "order" in kinds:
        yield "e order", _LINE, "order only"
    if bool(drawing.laid_out.is_back.any()) or any(edge.is_carried for edge in graph.edges):
        yield "e back", _LINE, "back, for the next iteration"
