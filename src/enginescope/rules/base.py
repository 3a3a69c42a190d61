"""A lint rule and its findings."""

import inspect
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from enginescope.analysis.claims.layer_claims import Saving
from enginescope.core.record import Record
from enginescope.rules.view import LintView


class Severity(Enum):
    """Severity of a finding, in ascending order."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def weight(self) -> int:
        """Rank of the severity, from 0."""
        return list(Severity).index(self)


class Found(Record, frozen=True, kw_only=True):
    """Result of a rule at one place; the engine turns it into a `Finding`.

    Attributes:
        layers: Indices of the affected layers.
        message: A predicate that follows the layer's name, without a full stop. It names no layer,
            so that equal places of repeated blocks have equal messages. It ends in a question mark
            if the plan does not prove the claim.
        evidence: Figures behind the message.
        severity: Replaces the severity of the rule.
        advice: Replaces the advice of the rule.
        stakes_ms: Time at stake by layer, in ms. ``None``: the whole time of all `layers`; empty:
            unknown.
        subject: Replaces the name of the first layer.
    """

    layers: tuple[int, ...]
    message: str
    evidence: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
    severity: Severity | None = None
    advice: str | None = None
    stakes_ms: dict[int, float] | None = None
    subject: str | None = None


class Symptom(Record, frozen=True, kw_only=True):
    """A finding that another finding explains, with its own code, layers and message."""

    code: str
    subject: str
    layers: tuple[int, ...]
    message: str


class Finding(Record, frozen=True, kw_only=True):
    """A possible cause of lost time in a plan.

    Attributes:
        code, rule: Code of the rule, such as ``PLAN101``, and its name.
        severity: Severity of the rule, or the highest severity of `symptoms`.
        subject: Name of the layer, or a description of several layers.
        layers: Indices of the affected layers in the plan.
        message: A predicate of `subject`, without a full stop; a question if the plan does not
            prove it.
        advice: The next step.
        evidence: Figures behind the message.
        saving: What following `advice` may save.
        symptoms: Findings that this one explains; the report does not list them separately.
    """

    code: str
    rule: str
    severity: Severity
    subject: str
    layers: tuple[int, ...]
    message: str
    advice: str
    evidence: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
    saving: Saving = Saving()
    symptoms: tuple[Symptom, ...] = ()

    @property
    def is_question(self) -> bool:
        """Whether the message is a question, because the plan does not prove it."""
        return self.message.endswith("?")


Check = Callable[[LintView], Iterable[Found]]


class Rule(Record, frozen=True, kw_only=True):
    """A lint rule.

    Attributes:
        code: Stable code: ``PLAN1…`` for rules on the structure, ``TIME2…`` for rules on times.
        name: Lower-case words with hyphens.
        summary: One line, without a full stop.
        advice: The next step, without a capital and a full stop.
        doc: Docstring of `check`; its paragraphs begin with the headings of `catalogue`.
        check: Finds the places in a view; a pure function.
        explains: Codes of rules whose findings on the same layers are symptoms of this rule.
        is_per_item: Time is saved for each item of a larger batch; a single inference takes no
            less.
        is_general: It is also true of a graph that another runtime than TensorRT executed.
        is_of_engine: It is about how the engine runs as a whole, not about single layers.
    """

    code: str
    name: str
    summary: str
    severity: Severity = Severity.WARNING
    advice: str
    doc: str
    check: Check
    explains: tuple[str, ...] = ()
    is_per_item: bool = False
    is_general: bool = False
    is_of_engine: bool = False


def rule(code: str, name: str, summary: str, **options: Any) -> Callable[[Check], Rule]:
    """Make a rule of the function that checks it, with its docstring; `options` as in `Rule`."""

    def made(check: Check) -> Rule:
        doc = inspect.getdoc(check) or ""
        return Rule(code=code, name=name, summary=summary, doc=doc, check=check, **options)

    return made
