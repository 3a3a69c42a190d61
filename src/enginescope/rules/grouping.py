"""Findings of one rule that say the same of repeated blocks, as one group."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from enginescope.analysis.graph.folding.levels import module_path
from enginescope.core.record import Record
from enginescope.rules.base import Finding, Severity
from enginescope.rules.view import LintView

#: A figure, but not the digits of a type, a layout or a name: INT8, NC/32HW32, conv_1.
_FIGURE = re.compile(r"(?<![\w./])\d+(?:[.,]\d+)*(?![\w/])")
_TO = " … "
_DIGITS = re.compile(r"\d+")


class FindingGroup(Record, frozen=True, kw_only=True):
    """Findings that differ in their figures and in the number of their block only.

    Attributes:
        names: Of one finding its subject, in two parts where it has a first and a last layer; of
            several the first and the last block, or subject.
        of_blocks: Whether `names` are blocks.
        message: With a range where the findings' figures differ.
        stake_ms, share_pct: Sums; ``None`` where no finding has one.
        findings: Positions among the report's findings.
        layers: How many layers the findings concern.
    """

    code: str
    rule: str
    severity: Severity
    names: tuple[str, ...]
    of_blocks: bool
    message: str
    advice: str
    stake_ms: float | None
    share_pct: float | None
    findings: tuple[int, ...]
    layers: int

    def subject(self, shorten: Callable[[str], str] = str) -> str:
        """Return what `message` follows.

        Args:
            shorten: Applied to each name.
        """
        names = _TO.join(map(shorten, dict.fromkeys(self.names)))
        if len(self.findings) == 1:
            return names
        noun = "layers" if self.layers == len(self.findings) else "places"
        where = f"in {names}" if self.of_blocks else f"({names})"
        return f"each of {len(self.findings):,} {noun} {where}"


def grouped(findings: Sequence[Finding], view: LintView) -> tuple[FindingGroup, ...]:
    """Return the findings in groups: most time at stake first, those that cannot tell it last."""
    members: dict[tuple[str, ...], list[int]] = {}
    blocks = [_block(finding, view) for finding in findings]
    for at, finding in enumerate(findings):
        family = _DIGITS.sub("#", blocks[at] or "")
        message = _FIGURE.sub("#", finding.message)
        key = (finding.code, finding.severity.value, finding.advice, message, family)
        members.setdefault(key, []).append(at)
    groups = [_group(findings, blocks, some, view) for some in members.values()]
    return tuple(sorted(groups, key=_order))


def _block(finding: Finding, view: LintView) -> str | None:
    """Return the outermost numbered module of the first layer that is in one."""
    for index in finding.layers:
        path = module_path(view.layers[index]) or ()
        for depth, step in enumerate(path):
            if _DIGITS.search(step):
                above = () if depth and step.startswith(f"{path[depth - 1]}.") else path[:depth]
                return "/".join((*above, step))
    return None


def _group(
    findings: Sequence[Finding], blocks: Sequence[str | None], some: list[int], view: LintView
) -> FindingGroup:
    inside = sorted(some, key=lambda at: (_natural(blocks[at] or ""), findings[at].layers))
    first = findings[inside[0]]
    ends = (inside[0], inside[-1]) if len(some) > 1 else (inside[0],)
    of_blocks = len(some) > 1 and blocks[inside[0]] is not None
    stakes = [findings[at].stake_ms for at in some]
    known = [stake for stake in stakes if stake is not None]
    stake_ms = sum(known) if known else None
    names = [(blocks[at] or "") if of_blocks else findings[at].subject for at in ends]
    return FindingGroup(
        code=first.code,
        rule=first.rule,
        severity=first.severity,
        names=tuple(names) if len(some) > 1 else tuple(first.subject.split(_TO)),
        of_blocks=of_blocks,
        message=_merged([findings[at].message for at in inside]),
        advice=first.advice,
        stake_ms=stake_ms,
        share_pct=view.share_pct(stake_ms),
        findings=tuple(some),
        layers=len({layer for at in some for layer in findings[at].layers}),
    )


def _natural(name: str) -> tuple[int, ...]:
    """Return the numbers of a block's name: ``layers.10`` comes after ``layers.9``."""
    return tuple(map(int, _DIGITS.findall(name)))


def _merged(messages: Sequence[str]) -> str:
    """Return one message for equal ones, with a range where a figure differs."""
    columns = zip(*map(_FIGURE.findall, messages), strict=True)
    ranges = (sorted(set(column), key=_value) for column in columns)
    words = iter([one[0] if len(one) == 1 else f"{one[0]} … {one[-1]}" for one in ranges])
    return _FIGURE.sub(lambda _: next(words), messages[0])


def _value(figure: str) -> float:
    return float(figure.replace(",", "")) if figure.count(".") < 2 else 0.0


def _order(group: FindingGroup) -> tuple[float, int, str, tuple[int, ...]]:
    stake = group.stake_ms if group.stake_ms is not None else -1.0
    return -stake, -group.severity.weight, group.code, group.findings
