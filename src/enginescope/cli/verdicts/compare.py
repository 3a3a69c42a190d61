"""``enginescope compare``: runs and plans side by side, and what explains their difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.comparison import across_option, continue_option, rounds_option
from enginescope.cli.completion import complete_runs
from enginescope.cli.messages import warn, words
from enginescope.cli.options import (
    COUNT,
    EXISTING,
    FILE,
    FROM_0,
    Finite,
    card_option,
    json_option,
    option,
    page_options,
    store_option,
)
from enginescope.cli.process_options import command_line, picked
from enginescope.cli.report_output import check_files, step
from enginescope.cli.verb import EXIT_RUN_FAILED, refuse_typed, verb
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean

if TYPE_CHECKING:
    from enginescope.analysis.plan_comparison.comparison import Comparison
    from enginescope.services.verdicts import compare


@verb(
    "compare",
    "Compare two plans layer by layer",
    "enginescope compare a.json b.json",
    "Measure more rounds of an inconclusive comparison",
    "enginescope compare cmp-0a1b2c3d --continue",
)
@click.argument("what", shell_complete=complete_runs, metavar="A B [C…] | COMPARISON", nargs=-1)
@option(
    "--threshold threshold_pct",
    "Ignore smaller differences.  [default: as measured, else 1; 3 for layers]",
    Finite(0, 100),
    metavar="PERCENT",
)
@across_option
@continue_option("COMPARISON, until it is decided")
@rounds_option("as before; twice as many if all are used")
@option(
    "--only",
    "Show only layers that differ in precision or tactic, or layers of TYPE.",
    heading="Output",
    metavar="precision|tactic|TYPE",
)
@option("--top", "Maximum number of rows per table.", COUNT, default=10)
@option(
    "--plan-profile", "Select the optimization profile if plans have several.", FROM_0, default=0
)
@option(
    "--build-log build_logs",
    "Read a verbose build log; give two, A's and B's, to compare the builder's choices.",
    EXISTING,
    multiple=True,
)
@option("--csv", "Write layer pairs, else plans, else verdicts as CSV to FILE.", FILE)
@page_options
@card_option
@store_option
@json_option
def command(what: tuple[str, ...], **options: Any) -> int:
    """Compare runs and TensorRT plans: which is faster, and what explains the difference.

    Each side is a run, a tag, a trtexec export, a plan's JSON, an engine, or a folder with one
    engine's files. All runs of a tag are processes of one side. One name alone is a comparison of
    bench --compare. The first side is the baseline. Runs get verdicts. Two plans are compared layer
    by layer; more plans share one table.
    """
    threshold_pct = options["threshold_pct"]
    check_files(options, *what, *options["build_logs"])
    has_files = any(options[name] for name in ("csv", "markdown", "html", "card"))
    from enginescope.analysis.plan_comparison.comparison import THRESHOLD_PCT
    from enginescope.cli.comparison import present
    from enginescope.cli.terminal_observer import TerminalObserver
    from enginescope.core.process_control import gc_paused
    from enginescope.render.plan_comparison.compare_tables import Chosen
    from enginescope.services.verdicts import compare

    status = 0
    if options["continues"]:
        status = _continue(what, options)
    elif options["rounds"]:
        raise UsageError("--rounds without --continue", hint="compare COMPARISON --continue")
    request = compare.CompareRequest(
        sides=tuple((name,) for name in what),
        store=options["store_folder"],
        **picked(options, "threshold_pct", "across", "plan_profile", "build_logs"),
    )
    if not what and has_files:
        raise compare.nothing_to_compare()
    with gc_paused():
        result = compare.compare_inputs(request, TerminalObserver())
        if result.unmeasured:
            warn(f"not measured, so plans alone are compared: {', '.join(result.unmeasured)}")
        chosen = Chosen(
            only=_known(options["only"], result.plans),
            top=options["top"],
            threshold_pct=THRESHOLD_PCT if threshold_pct is None else threshold_pct,
        )
        present(result, chosen, options, *_steps(what, result, options))
    return status


def _continue(what: tuple[str, ...], options: dict[str, Any]) -> int:
    from enginescope.cli.measure.bench_comparison import RoundsProgress
    from enginescope.cli.progress import measuring
    from enginescope.services.measurement.continued import ContinueRequest, continue_rounds

    if len(what) != 1:
        raise UsageError(
            f"--continue with {len(what)} names",
            why="it measures more rounds of one comparison",
            hint="enginescope compare cmp-0a1b2c3d --continue",
        )
    hint = "a comparison keeps its first settings"
    refuse_typed("with --continue", "threshold_pct", "across", hint=hint)
    place = {"store": options["store_folder"], "command": command_line()}
    request = ContinueRequest(name=what[0], rounds=options["rounds"], **place)
    with measuring(progress := RoundsProgress()):
        result = continue_rounds(request, progress)
    return 0 if result.is_ok else EXIT_RUN_FAILED


def _steps(
    what: tuple[str, ...], result: compare.CompareResult, options: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    from enginescope.judge.verdict import Reason
    from enginescope.services.explain import shown_word

    pair = result.measured.pairs[0] if result.measured is not None else None
    if pair is not None and pair.differing:
        keys = ",".join(one.key for one in pair.differing)
        yield step(options, "compare across these conditions", "compare", *what, "--across", keys)
    if what and not options["html"]:
        yield step(options, "one page", "compare", *what, "--html", "compare.html")
    if pair is not None:
        reason, kind = pair.headline.reason, pair.headline.kind
        code = reason.value if reason is Reason.PRINTED_ONLY else kind.value
        yield "explain the verdict", words("enginescope", "explain", shown_word(code))


def _known(only: str | None, found: Comparison | None) -> str | None:
    """Return what to show as the plans spell it."""
    if only is None or only in ("precision", "tactic"):
        return only
    if found is None or found.layers is None:
        raise UsageError(f"--only {only}", why="only the layers of two plans are listed")
    types = {one.key.lower(): one.key for one in found.overview.by_type if one.key is not None}
    if only.lower() in types:
        return types[only.lower()]
    hint = did_you_mean(only, ("precision", "tactic", *types.values()))
    raise UsageError(f"--only {only}", why="neither plan has a layer of that type", hint=hint)
