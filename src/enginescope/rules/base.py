"""What a rule is, what it is given, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

from enginescope.analysis.roofline.layer_work import LayerWork
from enginescope.core.record import Record
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.tensor import Tensor
from enginescope.rules.view import LintView

if TYPE_CHECKING:
    from enginescope.analysis.runs.run_view import RunView


class Severity(Enum):
    """How much a finding weighs, the lightest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def weight(self) -> int:
        """0 for the lightest."""
        return list(Severity).index(self)


class LintInput(Record, frozen=True, kw_only=True):
    """What is looked at.

    Attributes:
        profile: Without one nothing has a time at stake, and rules on times find nothing.
        device: The GPU that the plan is for.
        fed: Inputs as they were fed, dynamic dimensions resolved.
        profile_index: Optimization profile in use; by default the first.
        works: Of the plan's layers, as far as the plan tells, where they are known already.
        whole_ms: Time of a whole inference without a profiler.
        enqueue_ms: Time that the host takes to enqueue one inference.
        cuda_graph: Whether whole inferences ran as a CUDA graph; ``None``: not known.
    """

    plan: Plan
    profile: Profile | None = None
    device: Device | None = None
    fed: tuple[Tensor, ...] = ()
    profile_index: int | None = None
    works: tuple[LayerWork, ...] | None = None
    whole_ms: float | None = None
    enqueue_ms: float | None = None
    cuda_graph: bool | None = None

    @classmethod
    def of_run(cls, view: RunView, device: Device | None = None) -> LintInput | None:
        """Return what the rules look at in a run; ``None`` without a plan.

        Args:
            device: By default the run's.
        """
        run = view.given
        if run.plan is None:
            return None
        enqueue = view.summary("enqueue")
        whole = view.whole_request
        return cls(
            plan=run.plan,
            profile=run.profile,
            device=device or next(iter(run.environment.devices), None),
            fed=run.inputs,
            profile_index=run.job.backend.profile_index,
            works=view.plan_view.own_works if view.plan_view else None,
            whole_ms=whole.mean_ms if whole else None,
            enqueue_ms=enqueue.mean_ms if enqueue else None,
            cuda_graph=run.job.workload.mode.cuda_graph,
        )

    def view(self) -> LintView:
        """Return the same with its joins, for rules."""
        return LintView(
            self.plan,
            self.profile,
            device=self.device,
            fed=self.fed,
            profile_index=self.profile_index or 0,
            works=self.works,
            whole_ms=self.whole_ms,
            enqueue_ms=self.enqueue_ms,
            cuda_graph=self.cuda_graph,
        )


class Found(Record, frozen=True, kw_only=True):
    """What a rule says of one place; the engine makes a `Finding` of it.

    Attributes:
        layers: Indices of the layers concerned.
        message: A predicate: it follows the layer's name, and has no full stop. It names no layer,
            so that equal places of other blocks have the same; it ends in a question mark where the
            plan does not prove the claim.
        evidence: The figures behind it.
        severity: Where it is not the rule's.
        advice: Where it is not the rule's.
        stakes_ms: Time that each of some layers may win; ``None``: all of `layers`, all of their
            time; empty: it is not known.
        subject: Where it is not the first layer's name.
    """

    layers: tuple[int, ...]
    message: str
    evidence: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
    severity: Severity | None = None
    advice: str | None = None
    stakes_ms: dict[int, float] | None = None
    subject: str | None = None


class Symptom(Record, frozen=True, kw_only=True):
    """A finding that another one explains: code, layers and message are its own."""

    code: str
    subject: str
    layers: tuple[int, ...]
    message: str


class Finding(Record, frozen=True, kw_only=True):
    """Something in a plan that may cost time.

    Attributes:
        code, rule: ``PLAN101`` and the rule's name.
        severity: The rule's, or the heaviest of `symptoms`.
        subject: Name of the layer, or what stands for several.
        layers: Indices of the layers concerned, in the plan.
        message: A predicate of `subject`, without a full stop; a question where the plan does not
            prove it.
        advice: What to try.
        evidence: The figures behind it.
        stake_ms: Time that may be won, of the layers' own time without the profiler's part where
            that can be estimated. Time counts once: what an earlier cause may win of a layer is not
            in the stake of a later one, so stakes add up to no more than the engine takes. ``None``
            without a profile, and where it is not known.
        share_pct: `stake_ms` of the engine's time.
        symptoms: What this finding explains: those are not findings of their own.
    """

    code: str
    rule: str
    severity: Severity
    subject: str
    layers: tuple[int, ...]
    message: str
    advice: str
    evidence: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
    stake_ms: float | None = None
    share_pct: float | None = None
    symptoms: tuple[Symptom, ...] = ()

    @property
    def is_question(self) -> bool:
        """Whether it asks instead of claiming."""
        return self.message.endswith("?")


class Rule(Record, frozen=True, kw_only=True):
    """One thing to look for.

    Attributes:
        code: Stable: ``PLAN`` and 1…, for the structure; ``TIME`` and 2…, for the times.
        name: Words with hyphens.
        summary: One line, without a full stop.
        advice: What to try, begun small.
        doc: The rule's module docstring: its paragraphs begin with the headings of `catalogue`.
        check: From a view to what was found; pure.
        explains: Codes of rules whose findings on the same layers are symptoms of this one's.
    """

    code: str
    name: str
    summary: str
    severity: Severity
    advice: str
    doc: str
    check: Callable[[LintView], Iterable[Found]]
    explains: tuple[str, ...] = ()
