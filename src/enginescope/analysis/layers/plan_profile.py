"""One optimisation profile of a plan that holds the layers of several."""

from __future__ import annotations

import msgspec

from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_layer import profile_suffix
from enginescope.records.plan.plan import Plan
from enginescope.records.plan.timing import Profile


def plan_profiles(plan: Plan) -> tuple[int, ...]:
    """Return the optimisation profiles that a plan's layers name; empty for a plan of one."""
    found = {layer.profile_index for layer in plan.layers if layer.profile_index is not None}
    return tuple(sorted(found))


def of_plan_profile(plan: Plan, index: int) -> Plan:
    """Return `plan` with the layers and the engine's tensors of one optimisation profile.

    A plan of several carries ``[profile N]`` in the names that belong to profile N; names without
    belong to profile 0.

    Raises:
        UsageError: The plan has no such profile.
    """
    known = plan_profiles(plan)
    if index not in (known or (0,)):
        have = ", ".join(str(one) for one in known or (0,))
        raise UsageError(f"{plan.name} has no layers of profile {index}", hint=f"it has: {have}")
    if not known:
        return plan
    return msgspec.structs.replace(
        plan,
        layers=tuple(layer for layer in plan.layers if layer.profile_index == index),
        io=tuple(one for one in plan.io if (profile_suffix((one.tensor.name,)) or 0) == index),
    )


def times_of_plan_profile(profile: Profile, index: int) -> Profile:
    """Return `profile` with the times of one optimisation profile's layers, told by their names."""
    kept = tuple(layer for layer in profile.layers if (profile_suffix((layer.name,)) or 0) == index)
    if len(kept) == len(profile.layers):
        return profile
    return msgspec.structs.replace(profile, layers=kept, batch_sums_ms=())
