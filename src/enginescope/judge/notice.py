"""A remark that qualifies a figure."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark on samples, a run or a comparison.

    Attributes:
        code: Stable and short: ``W-LOAD``, ``I-DYNAMIC-SHAPE``.
        message: One plain sentence, begun small and without a full stop: it stands beside its code.
        evidence: The figures behind it.
        level: ``info`` for every code that begins with ``I-``.
    """

    code: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    level: Literal["info", "warning"] = field(default="warning", kw_only=True)

    def __post_init__(self) -> None:
        if self.code.startswith("I-"):
            object.__setattr__(self, "level", "info")


Notices: TypeAlias = tuple[Notice, ...]
