"""Profile that does not match its plan.

What it looks for: times of layers that the plan does not have, and layers that launch work and have
no time. The rule joins layers by name. Of several optimization profiles only the one in use needs
times.

Why it costs time: it costs no time, but every figure on layers is incomplete. If the profile lacks
active layers of the plan and has others, it belongs to another build. That is an error, and no rule
uses its times.

What to do: export plan and profile from the same engine, in one run of trtexec.

When it is wrong: a profile in a log omits layers that took no time.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_ERROR_SHARE = 0.5
_NAMED = 3


def _check(view: LintView) -> Iterator[Found]:
    if view.given_profile is None or not view.plan.layers:
        return
    timings, left = view.given_times
    strange = [timing for timing in left if timing.time_ms != 0]
    expected = [layer for layer in view.active if layer.profile_index in (None, view.profile_index)]
    untimed = [layer for layer in expected if layer.index not in timings]
    is_other = view.profile is None
    severity = Severity.ERROR if is_other or len(untimed) > _ERROR_SHARE * len(expected) else None
    if strange:
        ignored = ": it is of another build, so no rule uses its times" if is_other else ""
        yield Found(
            layers=(),
            subject="profile",
            message=f"has {_times(len(strange))} whose layer the plan does not have{ignored}",
            evidence={"count": len(strange), "names": [timing.name for timing in strange[:_NAMED]]},
            severity=severity,
        )
    if untimed:
        yield Found(
            layers=tuple(layer.index for layer in untimed),
            subject="profile",
            message=f"has no time for {len(untimed):,} of {len(expected):,} layers",
            evidence={"count": len(untimed), "names": [layer.name for layer in untimed[:_NAMED]]},
            severity=severity,
        )


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count:,} times"


RULE = Rule(
    code="TIME203",
    name="profile-mismatch",
    summary="Plan and profile do not name the same layers",
    severity=Severity.WARNING,
    advice="export plan and profile from one engine in one run",
    doc=__doc__,
    check=_check,
)
