"""All that trtexec prints of a run, in its order, from the engine to the layers' times."""

from __future__ import annotations

from enginescope.core.errors import EnginescopeError
from enginescope.model.run import OutcomeKind, Run
from enginescope.trtexec.engine_lines import (
    binding_lines,
    engine_lines,
    graph_lines,
    parsing_lines,
)
from enginescope.trtexec.exports import inspector_values
from enginescope.trtexec.kept_files import KeptTexts
from enginescope.trtexec.layer_lines import layer_info_lines, profile_lines, shape_lines
from enginescope.trtexec.library_lines import library_lines
from enginescope.trtexec.log import Line, error, info, on_one_line, warning
from enginescope.trtexec.outputs import output_lines
from enginescope.trtexec.performance import performance_lines
from enginescope.trtexec.settings import Settings


def run_lines(run: Run, settings: Settings, texts: KeptTexts) -> tuple[Line, ...]:
    """Return the lines of a run that went well, or as far as it went and why it did not."""
    verbose = settings.reporting.verbose
    # where nothing but a build was done, the worker's log is the build's once more
    is_repeated = run.phase_ms("load") is None and settings.skip_inference and texts.build_log
    engine = (
        *info("Loading standard plugins"),
        *parsing_lines(run),
        *library_lines(texts.build_log, verbose=verbose),
        *engine_lines(run, settings),
        *library_lines("" if is_repeated else texts.run_log, verbose=verbose),
    )
    if run.outcome.kind is not OutcomeKind.OK:
        return (*engine, *_failure(run))
    layers = _layers(run, settings, texts.inspector)
    if settings.skip_inference:
        skipped = info("Skipped inference phase since --skipInference is added.")
        return (*engine, *layers, *skipped)
    reporting = settings.reporting
    return (
        *engine,
        *graph_lines(run, settings),
        *binding_lines(run, settings),
        *layers,
        *info("Starting inference"),
        *performance_lines(run, settings),
        *_notices(run),
        *(output_lines(run.answers) if reporting.output else ()),
        *(profile_lines(run.profile) if reporting.profile and run.profile else ()),
    )


def _layers(run: Run, settings: Settings, inspector: str | None) -> tuple[Line, ...]:
    lines: tuple[Line, ...] = ()
    if settings.reporting.layer_info:
        try:
            lines += layer_info_lines(inspector_values(inspector))
        except EnginescopeError as problem:
            lines += warning(str(problem))
    if settings.reporting.shapes:
        lines += shape_lines(run, settings)
    return lines


def _failure(run: Run) -> tuple[Line, ...]:
    outcome = run.outcome
    message = outcome.message or f"the worker ended: {outcome.kind.value}"
    hint = error(f"  try: {outcome.hint}") if outcome.hint else ()
    return (*error(message), *hint)


def _notices(run: Run) -> tuple[Line, ...]:
    """Return what weakens the figures, as enginescope has it: trtexec knows nothing of these."""
    texts = (f"* {one.message} ({one.code})" for one in run.notices if one.level == "warning")
    return warning(*map(on_one_line, texts))
