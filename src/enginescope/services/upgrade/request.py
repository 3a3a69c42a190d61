"""What ``upgrade`` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from enginescope.analysis.verdicts.comparability import check_pct
from enginescope.analysis.verdicts.compared_figures import check_metric
from enginescope.backends.registry import read_spec
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.records.verdict.gate import InconclusivePolicy, Limit
from enginescope.records.verdict.upgrade import UPGRADE_LIMITS, Stack
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.measurement.interleaved import check_rounds
from enginescope.services.measurement.jobs import MeasureRequest

#: Fresh processes of each stack whose outputs are compared.
REPEATS = 2


class UpgradeRequest(MeasureRequest, frozen=True, kw_only=True):
    """Two stacks, and what to check on them; the fields are the parameters of `upgrade`."""

    models: tuple[Path, ...] = ()
    old: str
    new: str | None = None
    backends: tuple[str, ...] = ()
    reference: str | None = None
    samples: SampleRequest = SampleRequest()
    tolerance: str | None = None
    repeats: int = REPEATS
    rounds: int | None = None
    builds: int | None = None
    regressions: tuple[Limit, ...] = UPGRADE_LIMITS
    inconclusive: InconclusivePolicy = "fail"
    evidence: Path | None = None
    without_inputs: bool = False


def check_upgrade_request(request: UpgradeRequest) -> None:
    for limit in request.regressions:
        check_metric(limit.metric)
        check_pct(f"`max_regression` of {limit.metric}", limit.regression_pct, 1_000)
    if request.inconclusive not in get_args(InconclusivePolicy):
        hint = f"one of {', '.join(get_args(InconclusivePolicy))}"
        raise UsageError(f"inconclusive {request.inconclusive!r}", hint=hint)
    if not request.models and request.new is None:
        raise UsageError(
            "no models and no recorded runs",
            why="without models, `new` names recorded runs too",
            hint="enginescope upgrade model.onnx --old PYTHON",
        )
    if request.without_inputs and request.evidence is None:
        raise UsageError("`without_inputs`", why="without `evidence` there is no bundle")
    if request.repeats < 2:  # one process does not show whether a stack repeats itself
        raise UsageError(f"`repeats` {request.repeats}", why="nondeterminism shows in 2 or more")
    if request.rounds is not None and request.builds is not None:
        raise UsageError("`rounds` and `builds`", why="with `builds`, each round is a build")
    check_rounds(request.rounds)
    check_rounds(request.builds)


def specs_of(backends: Sequence[str], stacks: tuple[Stack, Stack]) -> tuple[str, str] | None:
    """Return the backend of each stack, without its stack; ``None``: the usual ones."""
    if not backends:
        return None
    names = [stack.name for stack in stacks]
    chosen: dict[str | None, str] = {}
    for text in backends:
        spec = read_spec(text)
        if spec.environment not in (None, *names):
            raise UsageError(f"backend {text}", why=f"the stacks are {' and '.join(names)}")
        chosen[spec.environment] = str(replace(spec, environment=None))
    old, new = (chosen.get(name, chosen.get(None)) for name in names)
    if len(chosen) < len(backends) or old is None or new is None:
        hint = f"`on` NAME for both, or NAME@{names[0]} and NAME@{names[1]}"
        raise UsageError("backends", why="each stack has one backend", hint=hint)
    return old, new
