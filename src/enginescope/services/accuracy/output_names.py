"""Names of outputs in a request: those of tolerances, and those mapped to the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.analysis.accuracy.binding_check import Bindings
from enginescope.analysis.errors.output_tolerance import ToleranceRequest
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.run import Run

_NO_NAMES: Mapping[str, str] = {}


def bindings_of(run: Run, names: Mapping[str, str] = _NO_NAMES) -> Bindings:
    """Return what a model takes and gives, its outputs under the names they are mapped to."""
    outputs = tuple(
        replace(output, name=names.get(output.name, output.name)) for output in run.outputs
    )
    return Bindings(inputs=run.inputs, outputs=outputs)


def check_output_names(
    names: Mapping[str, str], sides: Sequence[Run], reference: Run | None
) -> None:
    """Raise where the map of outputs names an output that does not exist, or a name twice.

    Args:
        names: Outputs of sides -> outputs of the reference.
        sides: Each with the outputs that its model declares.
        reference: ``None``: the reference is in files, whose names are not known yet.
    """
    known = [output.name for run in sides for output in run.outputs]
    wanted = [output.name for output in reference.outputs] if reference else list(names.values())
    for name, target in names.items():
        for one, there, who in ((name, known, "no side"), (target, wanted, "the reference")):
            if one not in there:
                raise UsageError(
                    f"map {name}={target}",
                    why=f"{who} has {'an' if who == 'no side' else 'no'} output called {one!r}",
                    hint=did_you_mean(one, dict.fromkeys(there)),
                )
    for run in sides:
        outputs = [output.name for output in bindings_of(run, names).outputs]
        twice = next((output for output in outputs if outputs.count(output) > 1), None)
        if twice is not None:
            why = f"{run.job.subject.name} would have {outputs.count(twice)} outputs of that name"
            raise UsageError(f"map of outputs to {twice}", why=why)


def check_tolerance_names(asked: ToleranceRequest, known: Sequence[str]) -> None:
    """Raise where a tolerance names an output that nobody gives."""
    for name in asked.outputs():
        parts = tuple(f"{one}{mark}" for one in known for mark in "[.")  # of sequences, maps
        if name not in known and not name.startswith(parts):
            hint = did_you_mean(name, dict.fromkeys(known))
            raise UsageError(f"no output is called {name!r}", hint=hint)
