"""Comparisons of depth-estimation models with their display."""

from __future__ import annotations

from enginescope.analysis.tasks.depth_benchmark import DepthBenchmark
from enginescope.notebook.display import displayed, shown_as
from enginescope.services.accuracy import depth as depth_service


class ShownDepth(DepthBenchmark):
    """Compared depth-estimation models; in notebooks their speeds, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.depth.depth_words import benchmark_title

        return benchmark_title(self)

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.depth import depth_html

        return depth_html(self)


depth = displayed(depth_service.depth, shown_as(ShownDepth))
