"""What a rule is, what it is given, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from enginescope.analysis.roofline.layer_work import LayerWork
from enginescope.core.record import Record
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Plan
from enginescope.records.plan.timing import Profile
from enginescope.records.tensor import Tensor
from enginescope.rules.view import LintView


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
    """

    plan: Plan
    profile: Profile | None = None
    device: Device | None = None
    fed: tuple[Tensor, ...] = ()
    profile_index: int | None = None
    works: tuple[LayerWork, ...] | None = None

    def view(self) -> LintView:
        """Return the same with its joins, for rules."""
        return LintView(
            self.plan,
            self.profile,
            device=self.device,
            fed=self.fed,
            profile_index=self.profile_index or 0,
            works=self.works,
        )


class Found(Record, frozen=True, kw_only=True):
    """What a rule says of one place; the engine makes a `Finding` of it.

    Attributes:
        layers: Indices of the layers concerned.
        message: A predicate: it follows the layer's name, and has no full stop.
        evidence: The figures behind it.
        severity: Where it is not the rule's.
        advice: Where it is not the rule's.
        stake_ms: Where it is not the time of all `layers`.
        subject: Where it is not the first layer's name.
    """

    layers: tuple[int, ...]
    message: str
    evidence: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
    severity: Severity | None = None
    advice: str | None = None
    stake_ms: float | None = None
    subject: str | None = None


class Finding(Record, frozen=True, kw_only=True):
    """Something in a plan that may cost time.

    Attributes:
        code, rule: ``PLAN101`` and the rule's name.
        subject: Name of the layer, or what stands for several.
        layers: Indices of the layers concerned, in the plan.
        message: A predicate of `subject`, without a full stop.
        advice: What to try.
        evidence: The figures behind it.
        stake_ms: Mean time of what is concerned, or its part beyond what the GPU's peaks allow: no
            more than that can be won. ``None`` without a profile. Findings may share layers, so
            stakes do not add up.
        share_pct: `stake_ms` of the sum over all layers.
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


class Rule(Record, frozen=True, kw_only=True):
    """One thing to look for.

    Attributes:
        code: Stable: ``PLAN`` and 1…, for the structure; ``TIME`` and 2…, for the times.
        name: Words with hyphens.
        summary: One line, without a full stop.
        advice: What to try, begun small.
        doc: The rule's module docstring: its paragraphs begin with the headings of `catalogue`.
        check: From a view to what was found; pure.
    """

    code: str
    name: str
    summary: str
    severity: Severity
    advice: str
    doc: str
    check: Callable[[LintView], Iterable[Found]]
