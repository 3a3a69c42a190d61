"""Profile that does not match its plan.

What it looks for: times whose layer the plan does not have, and layers that launch work and have no
time. Layers are joined by name; of several optimisation profiles only the one in use is expected to
have times.

Why it costs time: it does not, but every figure on layers is incomplete, and may be of another
engine.

What to do: export plan and profile from one and the same engine, in one run of trtexec.

When it is wrong: a profile printed into a log leaves out layers that took no time.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_ERROR_SHARE = 0.5
_NAMED = 3


def _check(view: LintView) -> Iterator[Found]:
    if view.profile is None or not view.plan.layers:
        return
    strange = [one for one in view.unmatched if one.mean_ms != 0]
    expected = [one for one in view.active if one.profile_index in (None, view.profile_index)]
    untimed = [one for one in expected if one.index not in view.timings]
    mostly = len(untimed) > _ERROR_SHARE * len(expected)
    if strange:
        known = [one.mean_ms for one in strange if one.mean_ms is not None]
        yield Found(
            layers=(),
            subject="profile",
            message=f"has {len(strange):,} times whose layer the plan does not have",
            evidence={"count": len(strange), "names": [one.name for one in strange[:_NAMED]]},
            severity=Severity.ERROR if mostly else None,
            stake_ms=sum(known) if known else None,
        )
    if untimed:
        yield Found(
            layers=tuple(layer.index for layer in untimed),
            subject="profile",
            message=f"has no time for {len(untimed):,} of {len(expected):,} layers",
            evidence={"count": len(untimed), "names": [one.name for one in untimed[:_NAMED]]},
            severity=Severity.ERROR if mostly else None,
        )


RULE = Rule(
    code="TIME203",
    name="profile-mismatch",
    summary="Plan and profile do not name the same layers",
    severity=Severity.WARNING,
    advice="export plan and profile from one engine in one run",
    doc=__doc__,
    check=_check,
)
