"""The answer of a search for the fastest options, for terminal, files, page and JSON alike."""

from enginescope.judge.units import counted, format_ms
from enginescope.judge.verdict import VerdictKind, excluded_pct, none_above
from enginescope.records.verdict.tune import Alternative, InvalidAlternative, TuneReport
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, ends_of, printable, ratio_cells
from enginescope.render.base.figures import TextTable, figure
from enginescope.render.charts.estimates import estimate_chart, ratio_estimate
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.verdict_phrases import confidence_text, range_of, ratio_text

_LED = {
    VerdictKind.SAME: "but {none} is detected in the confirmation",
    VerdictKind.SLOWER: "but is slower in the confirmation",
    VerdictKind.INCONCLUSIVE: "and the confirmation is inconclusive",
}
_STATES = {
    "default": "default",
    "candidate": "leads",
    "left": "kept",
    "wrong": "wrong outputs",
    "failed": "failed",
}
_CSV_HEADERS = (
    *("backend", "batch", "state", "value", "low", "high"),
    *("ratio", "ratio_low", "ratio_high", "rounds", "dropped_after", "why"),
)


def tune_answer(report: TuneReport) -> Answer:
    """Return the confirmation, the alternatives, and those that are out."""
    every: list[Alternative | InvalidAlternative] = [*report.alternatives, *report.invalid]
    out = tuple((_typed(one), printable(one.why)) for one in every if one.why is not None)
    headers, reason = ("alternative", "reason"), ("reason",)
    out_table = TextTable(title="Out", headers=headers, rows=out, sentences=reason)
    return Answer(
        verb="tune",
        title="Fastest options",
        answer=_answer(report),
        facts=_facts(report),
        tables=(alternative_table(report), *([out_table] if out else [])),
        notices=report.notices,
        report=report,
        csv=(_CSV_HEADERS, [_csv_row(alternative) for alternative in report.alternatives]),
        charts=(_chart(report),),
    )


def _answer(report: TuneReport) -> str:
    leader, confirmed = report.leader, report.confirmation
    name = printable(report.model)
    if leader is None:
        return f"no winner for {name}: no alternative leads the default in the search"
    label = label_of(report, leader)
    if confirmed is None:
        return f"no winner for {name} yet: {label} leads the search, and is not confirmed"
    ratio, interval = confirmed.ratio, confirmed.ratio.interval if confirmed.ratio else None
    measured = f"{ratio_text(ratio)} × the default's {report.metric}"
    if interval is not None:
        measured += f", {confidence_text(interval)} CI {range_of(ratio)}"
    if confirmed.kind is VerdictKind.FASTER:
        return f"winner for {name}: {label}, confirmed at {measured}"
    none = none_above(excluded_pct(interval)) if interval else ""
    led = _LED[confirmed.kind].format(none=none) + (f": {measured}" if ratio is not None else "")
    return f"no winner for {name}: {label} leads the search, {led}"


def label_of(report: TuneReport, alternative: Alternative) -> str:
    """Return what an alternative adds to the default: ``intra_op_num_threads=2, batch 4``."""
    head, _, options = report.default.backend.partition("?")
    own, _, text = alternative.backend.partition("?")
    base = options.split("&") if options else []
    added = [pair for pair in text.split("&") if pair and pair not in base]
    is_other = own != head or any(pair not in text.split("&") for pair in base)
    parts = [alternative.backend] if is_other else added
    if alternative.batch is not None and alternative.batch != report.default.batch:
        parts = [*parts, f"batch {alternative.batch}"]
    return printable(", ".join(parts)) or "the default"


def _facts(report: TuneReport) -> tuple[tuple[str, str], ...]:
    left = sum(one.state in ("default", "candidate", "left") for one in report.alternatives)
    routes, winner = report.unsearched_routes, report.winner
    more = f"; {counted(routes, 'build route')} of trtexec's file skipped" if routes else ""
    search = f"{report.rounds} rounds of fresh processes, {left} left at the end{more}"
    evidence = report.confirmation and report.confirmation.evidence
    use = f"--on '{printable(winner.backend)}'" if winner else ""
    if winner and winner.batch is not None:
        use += f" --batch {winner.batch}"
    return stated(
        ("default", _typed(report.default)),
        ("search", f"{counted(len(report.alternatives), 'alternative')}, {search}"),
        ("confirmed", _confirmation(report)),
        ("evidence", evidence.value if evidence else "the search alone"),
        ("selection", _selection(report)),
        ("outputs", _outputs(report)),
        ("use", use),
    )


def _typed(one: Alternative | InvalidAlternative) -> str:
    return printable(one.backend) + (f", batch {one.batch}" if one.batch is not None else "")


def _confirmation(report: TuneReport) -> str:
    confirmed = report.confirmation
    if confirmed is None:
        return "no, so that there is no winner" if report.leader else ""
    if confirmed.why is not None:
        return printable(confirmed.why)
    seed = confirmed.seed
    return f"{confirmed.rounds} rounds of the default and the leader, inputs with seed {seed}"


def _selection(report: TuneReport) -> str:
    leader, confirmed = report.leader, report.confirmation
    if leader is None or leader.ratio is None or confirmed is None or confirmed.ratio is None:
        return ""
    return (
        f"{ratio_text(leader.ratio)} × in the search, which selected it; "
        f"{ratio_text(confirmed.ratio)} × in the confirmation"
    )


def _outputs(report: TuneReport) -> str:
    wrong = sum(one.state == "wrong" for one in report.alternatives)
    others = len(report.alternatives) - 1
    measured = sum(bool(one.runs) for one in report.alternatives[1:])
    if wrong:
        return f"{wrong} of {counted(others, 'alternative')} give other outputs than the default"
    if not measured:
        return ""
    return "all measured alternatives agree with the default within the tolerances of validate"


def alternative_table(report: TuneReport) -> TextTable:
    """Return a row for each alternative: its figures in the search, and when it was dropped."""
    unit = "ms" if {one.batch for one in report.alternatives} <= {None, 1} else "ms per item"
    unit = "items/s" if report.metric == "throughput" else unit
    figures = (unit, "× default", "95 % CI", "rounds", "trtexec")
    return TextTable(
        title="Alternatives",
        headers=("alternative", *figures, "search"),
        rows=tuple(_cells(report, choice) for choice in report.alternatives),
        numbers=figures,
        has_long_names=True,
        note="figures of the search; selection makes the leader's figure look too good"
        + (", and the confirmation alone decides about a winner" if report.confirmation else ""),
    )


def _cells(report: TuneReport, choice: Alternative) -> tuple[str, ...]:
    dropped, is_rate = choice.dropped_after, report.metric == "throughput"
    value = figure(choice.value)
    return (
        _typed(choice) if choice.state == "default" else label_of(report, choice),
        value if is_rate or choice.value is None else format_ms(choice.value).removesuffix(" ms"),
        ratio_text(choice.ratio),
        range_of(choice.ratio),
        str(choice.rounds),
        UNKNOWN if choice.trtexec_ms is None else format_ms(choice.trtexec_ms),
        f"dropped at {dropped}" if dropped else _STATES[choice.state],
    )


def _csv_row(choice: Alternative) -> tuple[object, ...]:
    return (
        *(choice.backend, choice.batch, choice.state, choice.value, *ends_of(choice.interval)),
        *(*ratio_cells(choice.ratio), choice.rounds, choice.dropped_after, choice.why),
    )


def _chart(report: TuneReport) -> Chart | None:
    estimates = [
        ratio_estimate(label_of(report, one), one.ratio, "search")
        for one in report.alternatives
        if one.ratio
    ]
    confirmed, leader = report.confirmation, report.leader
    if confirmed is not None and confirmed.ratio is not None and leader is not None:
        name = label_of(report, leader)
        estimates.insert(0, ratio_estimate(name, confirmed.ratio, "confirmation"))
    return estimate_chart(
        "tune_alternatives",
        "Alternatives against the default",
        estimates,
        axis=f"{report.metric} ÷ the default's",
        reference=1.0,
        lines="intervals",
    )
