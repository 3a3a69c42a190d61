"""A process of its own for Graphviz: ``python -m enginescope.render.graph.write.graphviz_child``.

Graphviz is C in the interpreter's own process: where it runs out of memory or trips over a large
graph, it ends this process and not the one that asked. DOT on standard input, JSON on standard
output.
"""

from __future__ import annotations

import sys

from enginescope.core.optional import require

PURPOSE = {"purpose": "the layout of Graphviz", "install": "enginescope[graphviz]"}


def main() -> None:
    """Lay out one graph."""
    graphviz = require("pygraphviz", **PURPOSE)
    graph = graphviz.AGraph(string=sys.stdin.buffer.read().decode())
    sys.stdout.buffer.write(graph.draw(format="json0", prog="dot"))


if __name__ == "__main__":
    main()
