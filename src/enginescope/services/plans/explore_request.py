"""What to explore, which files to write, and the result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.plans.exploration import Exploration, ExploredLayer
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.services.plans.plan_context import ContextFiles, PlanContext
from enginescope.services.plans.plan_input import NO_COMPANIONS, CompanionFiles, PlanInput, PlanName
from enginescope.store.location import StorePlace

if TYPE_CHECKING:
    from enginescope.records.notice import Notice
    from enginescope.render.graph.write.picture import Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreFiles:
    """Files to write.

    Attributes:
        csv: The layers.
        xlsx: All tables.
        netron: The ONNX model with times.
        model_explorer: Times of the model's nodes.
        html: Everything as one page.
        svg, png, dot: The plan as a graph.
    """

    csv: Path | None = None
    xlsx: Path | None = None
    netron: Path | None = None
    model_explorer: Path | None = None
    html: Path | None = None
    svg: Path | None = None
    png: Path | None = None
    dot: Path | None = None

    def requested(self) -> dict[str, Path]:
        """Return the paths by the name of their field."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: path for name, path in every.items() if path is not None}


class ExploreRequest(Record, frozen=True, kw_only=True):
    """Which plan, what it is compared with, and which files to write.

    Attributes:
        plan_profile: Optimization profile, of a plan that has several.
        sort: Order of the layers: a key of `ORDERS`.
        drawing: Options of the graph; ``None``: the defaults.
        png_scale: Pixels per unit.
    """

    plan: PlanName
    companions: CompanionFiles = NO_COMPANIONS
    plan_profile: int = 0
    sort: str = "time"
    context: ContextFiles = ContextFiles()
    files: ExploreFiles = ExploreFiles()
    drawing: Wish | None = None
    png_scale: float | None = None
    store: StorePlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explored(Result):
    """Layers, times and notices of one optimization profile of a plan.

    Attributes:
        source: Without layer times of another build.
        page_source: With them: the page reports why it ignores them.
        layers: In the order of the request.
        view: ``None`` for layer times alone.
        files: Files that were written.
    """

    source: PlanInput
    page_source: PlanInput
    found: Exploration
    layers: tuple[ExploredLayer, ...]
    view: PlanView | None
    context: PlanContext[PlanView]
    files: tuple[Path, ...] = ()

    @property
    def gpu(self) -> str | None:
        """The GPU that was named."""
        view = self.context.view
        return view.gpu.name if view is not None and view.gpu is not None else None

    @property
    def gpu_text(self) -> str | None:
        """The GPUs of the files or the run; where there are none, the named GPU, marked as such."""
        from enginescope.render.base.facts import given_gpu_text

        return self.source.device_names or (given_gpu_text(self.gpu) if self.gpu else None)

    @property
    def tensorrt_version(self) -> str | None:
        """The version that built or ran it, where a file, the run or the build's log names it."""
        story = self.context.story
        return self.source.tensorrt_version or (story.tensorrt_version if story else None)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the files or the run, and of what the plan was compared with."""
        return (*self.source.notices, *self.context.notices)

    def to_json(self) -> bytes:
        """Return everything as the document of ``enginescope explore --json``."""
        from enginescope.render.plans.explore_data import explore_json

        return explore_json(
            self.found,
            self.layers,
            device=self.source.device_names,
            tensorrt_version=self.tensorrt_version,
            notices=self.notices,
            more=self.context.data(),
        )
