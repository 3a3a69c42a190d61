"""From a plan to pictures of it: which part, words, colors and layout; a drawing as PNG."""

import re
from collections.abc import Sequence
from functools import cached_property

from enginescope.analysis.graph.folding.fold import fold, folded
from enginescope.analysis.graph.folding.levels import left_out
from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.analysis.graph.plan_graph_part import (
    GraphPart,
    named,
    parse_beam,
    part_of,
    queried,
    within,
)
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.roofline.layer_work import layer_work
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Plan, Profile
from enginescope.render.graph.node_labels import Wording
from enginescope.render.graph.paint import findings_by_layer, sketch
from enginescope.render.graph.write.svg import Drawing, drawn, svg
from enginescope.render.html.images import svg_png

#: Pixels of one side that viewers show, and of the whole: 4 bytes of memory each.
MOST_SIDE, MOST_PIXELS = 32_767, 100_000_000
#: Dots per unit of the drawing where it is small enough for them.
SHARP = 2.0


def graph_png(text: str, scale: float | None = None) -> bytes:
    """Return an SVG of ours as PNG.

    Args:
        text: From `svg`, on white: a PNG cannot follow its viewer's theme.
        scale: Pixels a unit; unless given, 2 or, where that is too large, 1.
    """
    found = re.search(r'<svg [^>]*\bwidth="(\d+)" height="(\d+)"', text)
    assert found is not None, "not an SVG of ours"
    width, height = int(found[1]), int(found[2])
    if scale is None:
        scale = SHARP if _fits(width, height, SHARP) else 1.0
    if not _fits(width, height, scale):
        raise UsageError(
            f"a PNG of {width * scale:,.0f} × {height * scale:,.0f} pixels is too large",
            why=f"at most {MOST_SIDE:,} a side and {MOST_PIXELS // 10**6:,} million pixels in all",
            hint="--svg FILE has no limit; --fold, --beam LAYER,N and --filter WHAT draw less",
        )
    return svg_png(text, scale)


def _fits(width: int, height: int, scale: float) -> bool:
    sides = width * scale, height * scale
    return max(sides) <= MOST_SIDE and sides[0] * sides[1] <= MOST_PIXELS


class DrawingOptions(Record, frozen=True, kw_only=True):
    """What is to be seen, and how.

    Attributes:
        regions: Which tensors are boxes.
        beam: ``LAYER,N``: only what is within N steps of a layer.
        fold: Which layers are one box; of the whole plan only.
        filter, highlight: What is drawn, the rest folded; what is framed, as `queried` reads both.
    """

    color: str = "type"
    regions: str = "io"
    constants: bool = False
    beam: str | None = None
    filter: Sequence[str] = ()
    fold: str = "none"
    highlight: Sequence[str] = ()


class Picture:
    """Pictures of one plan; what they have in common is made once.

    What only some pictures need is imported where they need it: a small plan is drawn in less time
    than that takes.

    Args:
        device: The GPU, which some findings depend on.
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile | None = None,
        options: DrawingOptions | None = None,
        *,
        device: Device | None = None,
    ) -> None:
        self._plan, self._profile, self._device = plan, profile, device
        self.options = options or DrawingOptions()
        self.notices: tuple[Notice, ...] = ()

    def svg(self, *, is_light: bool = False) -> str:
        """Return the picture as SVG, on white or as its viewer prefers."""
        return svg(self._drawing, coloring=self.options.color, is_light=is_light, part=self._part)

    def png(self, scale: float | None = None) -> bytes:
        """Return the picture as PNG, on white."""
        return graph_png(self.svg(is_light=True), scale)

    @cached_property
    def _whole(self) -> PlanGraph:
        options = self.options
        graph = plan_graph(self._plan, tensors=options.regions, constants=options.constants)
        if options.fold == "none":
            return graph
        if options.beam or options.filter or options.highlight:
            why = "it is of the whole plan: layers in a group cannot be chosen"
            hint = "remove --beam, --filter and --highlight"
            raise UsageError(f"--fold {options.fold}", why=why, hint=hint)
        tree = fold(graph, options.fold)
        if tree is None:
            text = {
                "module": "drawn unfolded: the names of the plan's layers contain no modules",
                "block": "drawn expanded: no block of layers repeats",
            }[options.fold]
            self.notices += (Notice(code="I-NOT-FOLDED", message=text, level="info"),)
            return graph
        return folded(graph, tree)

    @cached_property
    def _part(self) -> GraphPart | None:
        return _selected(self._whole, self.options)

    @cached_property
    def _drawing(self) -> Drawing:
        graph = self._part.graph if self._part is not None else self._whole
        times = attribute(self._plan, self._profile) if self._profile is not None else None
        return drawn(sketch(graph, times, self._wording))

    @property
    def _wording(self) -> Wording:
        works = layer_work(self._plan)
        of_layer = {one.index: work for one, work in zip(self._plan.layers, works, strict=True)}
        if self.options.color != "lint":
            return Wording(works=of_layer)
        from enginescope.rules.engine import lint
        from enginescope.rules.view import LintInput

        given = LintInput(plan=self._plan, profile=self._profile, device=self._device)
        return Wording(findings=findings_by_layer(lint(given).findings), works=of_layer)


def _selected(graph: PlanGraph, options: DrawingOptions) -> GraphPart | None:
    """Return what is asked for of `graph`; ``None`` if that is all of it, and nothing framed.

    What the filters do not mean is folded, run by run, before the steps of the beam are counted.
    """
    beam, filters, highlights = options.beam, options.filter, options.highlight
    if not (beam or filters or highlights):
        return None
    centres, radius = set[int](), 0
    if beam:
        name, radius = parse_beam(beam)
        centres = set(named(graph, name))
    framed = set(queried(graph, highlights)) if highlights else centres
    drawn = graph
    if filters:
        whole = left_out(graph, {*queried(graph, filters), *centres, *framed})
        drawn = folded(graph, whole)
        place = {old: at for at, old in enumerate(whole.members) if isinstance(old, int)}
        centres, framed = ({place[one] for one in those} for those in (centres, framed))
    kept = within(drawn, centres, radius) if beam else {node.id for node in drawn.nodes}
    return replace(part_of(drawn, kept, framed & kept), whole_nodes=len(graph.nodes))
