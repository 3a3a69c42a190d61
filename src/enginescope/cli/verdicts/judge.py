"""``enginescope judge``: which of several commands, programs or functions is faster."""

from collections.abc import Callable
from typing import Any

import click

from enginescope.cli.messages import note, warn
from enginescope.cli.options import (
    DURATION_MS,
    FILE,
    FROM_0,
    Finite,
    json_option,
    option,
    write_output,
)
from enginescope.cli.process_options import command_line
from enginescope.cli.report_output import print_json
from enginescope.cli.verb import EXIT_INTERRUPTED, EXIT_RUN_FAILED, saying_what_stands, verb
from enginescope.core.errors import UsageError
from enginescope.judge import sources
from enginescope.judge.answer import Answer
from enginescope.judge.comparing import SECONDS, Comparison
from enginescope.judge.comparison.looks import LOOKS, MOST_ROUNDS, THRESHOLD_PCT, Tally
from enginescope.judge.experiment import Ended
from enginescope.judge.referee import PROPOSALS, Ruling, Session
from enginescope.judge.units import counted, format_span
from enginescope.services.output_files import check_outputs

_KINDS: dict[str, Callable[[str], sources.Source]] = {
    "command": sources.command,
    "jsonl": sources.program,
    "python": sources.fresh,
}


@verb(
    "judge",
    "Compare two commands",
    "enginescope judge './old input' './new input'",
    "Compare two functions in fresh Python processes",
    "enginescope judge --python mine:old mine:new --markdown verdict.md",
)
@click.argument("sides", nargs=-1, required=True, metavar="SIDE SIDE...")
@option("--jsonl kind", "SIDEs measure themselves: the JSONL protocol.", flag_value="jsonl")
@option("--python kind", "SIDEs are MODULE:FUNCTION.", flag_value="python")
@option(
    "--seconds",
    "Measuring time of each side in each round; a longer command runs once.",
    DURATION_MS,
    default=f"{SECONDS:g}s",
)
@option(
    "--rounds",
    "Maximum number of rounds that count.",
    click.IntRange(LOOKS[0], MOST_ROUNDS),
    default=LOOKS[-1],
)
@option("--max-time", "Maximum measuring time; by default the rounds end it.", DURATION_MS)
@option(
    "--threshold",
    "Smaller differences do not matter, in percent.",
    Finite(0, 100, min_open=True),
    default=THRESHOLD_PCT,
)
@option("--seed", "Seed for the order of the sides.", FROM_0, default=0)
@option(
    "--session",
    "SIDEs are the champion and a proposal of the search in FILE; exit 0 if it is accepted.",
    FILE,
    heading="Output",
)
@option(
    "--proposals",
    "Expected number of proposals in the session.",
    click.IntRange(1, 1_000_000),
    default=PROPOSALS,
)
@option("--keep", "Store every measurement in FILE; the same call resumes it.", FILE)
@option("--markdown", "Write the answer as Markdown to FILE.", FILE)
@json_option
def command(sides: tuple[str, ...], **options: Any) -> int:
    """Compare SIDEs by interleaved rounds until it is decided which is faster.

    A SIDE is a command line, and whole processes are timed. With --jsonl a SIDE measures itself,
    with --python it is a function in a fresh process. The first SIDE is the base.
    """
    check_outputs([options["markdown"], options["keep"], options["session"]], [])
    chosen: list[sources.Source] = [_KINDS[options["kind"] or "command"](side) for side in sides]
    if options["session"] is not None:
        return _propose(chosen, options)
    comparison = Comparison(
        chosen,
        rounds=options["rounds"],
        seconds=options["seconds"] / 1e3,
        threshold_pct=options["threshold"],
        max_time_s=options["max_time"] and options["max_time"] / 1e3,
        seed=options["seed"],
        keep=options["keep"],
        watch=_watch(quiet=options["as_json"]),
    )
    stands = f"no round is complete; {_how_to_continue(options['keep'])}"
    with saying_what_stands(lambda: stands):
        answer = comparison.run()
    _present(answer, options)
    if answer.ended is Ended.INTERRUPTED:
        return _interrupted(comparison, answer)
    return EXIT_RUN_FAILED if answer.ended is Ended.GIVEN_UP else 0


def _propose(sides: list[sources.Source], options: dict[str, Any]) -> int:
    if len(sides) != 2:
        hint = "name the champion, then one proposal"
        raise UsageError(f"--session with {len(sides)} sides", hint=hint)
    champion, proposal = sides
    session = Session(
        champion,
        proposals=options["proposals"],
        threshold_pct=options["threshold"],
        rounds=options["rounds"],
        seconds=options["seconds"] / 1e3,
        seed=options["seed"],
        keep=options["session"],
    )
    stands = f"the proposal is inconclusive; to judge it again: {command_line()}"
    with saying_what_stands(lambda: stands):
        judged = session.propose(proposal)
    if judged.answer is not None:
        _present(judged.answer, options)
    note(f"proposal {judged.number}: {judged.ruling.value}; champion: {session.champion_name}")
    if judged.ruling is Ruling.FAILED:
        return EXIT_RUN_FAILED
    return 0 if judged.is_accepted else 1


def _interrupted(comparison: Comparison, answer: Answer) -> int:
    how = _how_to_continue(answer.kept)
    warn(f"enginescope: interrupted after {counted(answer.rounds, 'round')}; {how}")
    error = comparison.experiment.interruption
    code = error.code if isinstance(error, SystemExit) else None
    return code if isinstance(code, int) else EXIT_INTERRUPTED


def _how_to_continue(kept: object) -> str:
    if kept is None:
        return "--keep FILE would have stored it, to be continued"
    return f"to continue: {command_line()}"


def _present(answer: Answer, options: dict[str, Any]) -> None:
    if options["markdown"] is not None:
        write_output(options["markdown"], answer.markdown().encode())
    if options["as_json"]:
        print_json(answer.json().encode() + b"\n")
    else:
        print(answer.text())


def _watch(*, quiet: bool) -> Callable[[Tally, float | None], None]:
    def watch(tally: Tally, left_s: float | None) -> None:
        if tally.measured & (tally.measured - 1) and tally.measured % LOOKS[0]:
            return  # rounds 1, 2, 4, then every eighth
        left = f"; at most {format_span(left_s)} left" if left_s is not None else ""
        note(f"round {tally.measured}: {tally.counting} count{left}")

    return (lambda _tally, _left_s: None) if quiet else watch
