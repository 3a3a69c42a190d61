"""What ``upgrade`` is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, get_args

from enginescope.backends.registry import read_spec
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS, MOST_ROUNDS
from enginescope.records.verdict.gate import InconclusivePolicy, Limit
from enginescope.records.verdict.upgrade import UPGRADE_LIMITS, Stack
from enginescope.services.accuracy.request import SampleCount, SampleFiles
from enginescope.services.declared import File, Param, unflagged
from enginescope.services.measurement.jobs import MaximumRounds, MeasureRequest
from enginescope.services.verdicts.gate import check_terms


class StacksRequest(MeasureRequest, frozen=True, kw_only=True):
    """What is checked on each stack, and how."""

    reference: Annotated[
        File | None,
        Param(
            "Compare with this reference; BACKEND@old names the stack that computes it.",
            metavar="BACKEND|MODEL|ENGINE|DIR",
            usual="expected outputs, else ort-cpu in this Python",
        ),
    ] = None
    data: SampleFiles = ()
    samples: SampleCount = None
    tolerance: Annotated[
        str | None,
        Param(
            "Use the tolerances of this precision, such as fp16.",
            usual="the coarsest one",
            metavar="PRECISION",
        ),
    ] = None
    rounds: MaximumRounds = None
    max_regression_pct: Annotated[
        Mapping[str, float],
        unflagged(
            "Maximum regression of a metric, which then counts.",
            usual=", ".join(f"{one.metric} {one.regression_pct:g}" for one in UPGRADE_LIMITS),
        ),
    ] = {}
    evidence: Annotated[
        File | None,
        Param("Write inputs, outputs, runs, versions and verdicts with SHA-256 to a new folder."),
    ] = None


class UpgradeRequest(StacksRequest, frozen=True, kw_only=True):
    """Two stacks, and what to check on them: the parameters of `upgrade`.

    More than one of `repeats`: one process does not show whether a stack repeats itself.
    """

    models: Annotated[
        tuple[Path, ...],
        unflagged("Models or engines; without any, `old` and `new` are recorded runs."),
    ] = ()
    old: Annotated[
        File,
        Param("Stack in use: [NAME=]PYTHON with this enginescope, docker:IMAGE or podman:IMAGE."),
    ]
    new: Annotated[File | None, unflagged("Stack to check, as `old`.", usual="this Python")] = None
    on: Annotated[
        str | Sequence[str],
        Param(
            "Backend of both stacks, or NAME@old and NAME@new.", usual="ort-cpu; trt for an engine"
        ),
    ] = ()
    repeats: Annotated[
        int, Param("Fresh processes of each stack that return outputs.", least=2)
    ] = 2
    builds: Annotated[
        int | None,
        Param("Build engines anew in each of this many rounds.", least=LOOKS[0], most=MOST_ROUNDS),
    ] = None
    inconclusive: Annotated[
        InconclusivePolicy, Param("Whether an inconclusive upgrade fails or passes.")
    ] = "fail"
    without_inputs: Annotated[
        bool, Param("Add the hashes of models, samples and outputs to `evidence`, not the files.")
    ] = False

    @property
    def regressions(self) -> tuple[Limit, ...]:
        """The limit of each metric that counts."""
        usual = {limit.metric: limit.regression_pct for limit in UPGRADE_LIMITS}
        limits = usual | dict(self.max_regression_pct)
        return tuple(Limit(metric=name, regression_pct=pct) for name, pct in limits.items())


def check_upgrade_request(request: UpgradeRequest) -> None:
    check_terms(request.regressions, request.inconclusive, get_args(InconclusivePolicy))
    if not request.models and request.new is None:
        why = "without models, `new` names recorded runs too"
        hint = "enginescope upgrade model.onnx --old PYTHON"
        raise UsageError("no models and no recorded runs", why=why, hint=hint)
    if request.without_inputs and request.evidence is None:
        raise UsageError("`without_inputs`", why="without `evidence` there is no bundle")
    if request.rounds is not None and request.builds is not None:
        raise UsageError("`rounds` and `builds`", why="with `builds`, each round is a build")


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
