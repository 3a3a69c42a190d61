"""Open a plan: layers, times and work of one engine."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from enginescope.analysis.layers.request_latency import WholeRequest
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.gpu_limits import GpuLimits
from enginescope.core.record import Record
from enginescope.services.plans.observer import PlanObserver
from enginescope.services.plans.plan_context import ContextFiles, read_context
from enginescope.services.plans.plan_input import NO_COMPANIONS, CompanionFiles, PlanName
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.store.location import StorePlace

V = TypeVar("V", bound=PlanView)


class OpenPlanRequest(Record, frozen=True, kw_only=True):
    """Which plan, and what it is compared with.

    Attributes:
        plan_profile: Optimization profile, of a plan that has several.
        onnx: The model that the plan was built from.
    """

    plan: PlanName
    companions: CompanionFiles = NO_COMPANIONS
    plan_profile: int = 0
    gpu: str | GpuLimits | None = None
    onnx: Path | None = None
    store: StorePlace | None = None


def open_plan_as(
    view_type: type[V], request: OpenPlanRequest, observer: PlanObserver
) -> tuple[V, WholeRequest | None]:
    """Open a plan as a view of some type; with metric and mean in ms of whole requests.

    Raises:
        UsageError: There is no plan, or no such optimization profile.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here.
    """
    source = resolve_plan(request.plan, request.companions, store=request.store, observer=observer)
    source.needed_plan()
    own = source.with_own_times()
    chosen = own.of_profile(request.plan_profile)
    gpu, onnx = request.gpu, None
    if isinstance(request.plan, PlanView):
        gpu, onnx = gpu or request.plan.gpu, request.plan.onnx
    view = view_type(chosen.needed_plan(), chosen.profile, onnx=onnx)
    context = read_context(own, ContextFiles(gpu=gpu, onnx=request.onnx), view)
    added = [notice for notice in own.notices if notice not in source.notices]
    for notice in (*source.own_notices, *added, *context.notices):
        observer.notice(notice)
    return context.view or view, own.whole
