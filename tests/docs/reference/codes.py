"""Every code and closed list of words that enginescope prints: notices, verdicts, outcomes."""

from __future__ import annotations

from enginescope.analysis.verdicts.comparability import CONDITIONS
from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.core import errors
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import OutcomeKind
from enginescope.records.suite.suite import CellStatus
from enginescope.records.verdict.gate import FAILING, GateOutcome
from enginescope.records.verdict.verdict import Reason, VerdictKind
from enginescope.render.verdicts.gate_sarif import RULES as GATE_RULES
from enginescope.rules.catalogue import RULES
from enginescope.services.explain import explain, explanations
from tests.docs.reference.docstrings import first_paragraph
from tests.docs.reference.marked_page import table

VERDICTS = {
    VerdictKind.FASTER: "The interval excludes 1 and the ratio is beyond the threshold. Of sizes "
    "`smaller`, of rates `higher`.",
    VerdictKind.SLOWER: "The same in the other direction. Of sizes `larger`, of rates `lower`.",
    VerdictKind.SAME: "The whole interval lies within the threshold.",
    VerdictKind.UNDECIDED: "Inconclusive; the reason says what would settle it.",
    VerdictKind.INCOMPARABLE: "The conditions of the two sides differ.",
}
GATE_OUTCOMES = {
    GateOutcome.REGRESSION: "Worse than the limit allows.",
    GateOutcome.NEW_FAILURE: "The job failed now and did not fail before.",
    GateOutcome.LOST: "The job or the metric is missing now.",
    GateOutcome.INCOMPARABLE: "The conditions differ.",
    GateOutcome.UNSTABLE: "One side is unstable by itself.",
    GateOutcome.UNDECIDED: "Inconclusive; `--undecided` decides whether it fails.",
    GateOutcome.STILL_FAILING: "The job failed before and fails now.",
    GateOutcome.NO_BASELINE: "The baseline of this job has no figure.",
    GateOutcome.NEW: "The baseline does not have this job.",
    GateOutcome.FIXED: "The job failed before and does not fail now.",
    GateOutcome.IMPROVEMENT: "Better, beyond the limit.",
    GateOutcome.NO_REGRESSION: "Not worse than the limit allows.",
}
RUN_OUTCOMES = {
    "ok": "Everything that was requested was measured.",
    "wrong": "Of a suite's cell: the outputs are not within their limits.",
    "failed": "The runtime reported an error.",
    "crashed": "The process died.",
    "timed_out": "The process exceeded `--timeout`.",
    "out_of_memory": "The process exceeded `--memory-limit`, or the GPU's memory was full.",
    "unsupported": "This machine, build or model cannot run it.",
}


def notices_part() -> str:
    """Return a table of codes for each level."""
    levels = {"W": "Warnings", "I": "Notes", "H": "Hints of `enginescope doctor`"}
    made = []
    for level, title in levels.items():
        rows = [
            (f"`{one.code}`", one.meaning, one.action)
            for one in explanations()
            if one.code.startswith(f"{level}-")
        ]
        made.append(f"### {title}\n\n{table(('code', 'meaning', 'what to do'), rows)}")
    return "\n\n".join(made)


def rules_part() -> str:
    """Return the lint rules with their severity."""
    rows = [
        (
            f"[{one.code}](rules.md#{one.code.lower()})",
            f"`{one.name}`",
            one.severity.value,
            one.summary,
        )
        for one in RULES
    ]
    return table(("code", "name", "severity", "meaning"), rows)


def gate_rules_part() -> str:
    """Return the rules of a gate's SARIF file."""
    rows = [(f"`{code}`", f"`{name}`", text, advice) for code, name, _, text, advice in GATE_RULES]
    return table(("code", "name", "meaning", "what to do"), rows)


def verdicts_part() -> str:
    """Return the verdicts."""
    return table(("verdict", "meaning"), [(f"`{one.value}`", VERDICTS[one]) for one in VerdictKind])


def reasons_part() -> str:
    """Return the reasons of verdicts."""
    rows = [(f"`{one.value}`", explain(one.value).meaning) for one in Reason]
    return table(("reason", "meaning"), rows)


def gate_part() -> str:
    """Return the outcomes of a gate's rows."""
    rows = [
        (f"`{one.value}`", "yes" if one in FAILING else "no", GATE_OUTCOMES[one])
        for one in GateOutcome
    ]
    return table(("outcome", "fails", "meaning"), rows)


def outcomes_part() -> str:
    """Return how runs and cells of suites end."""
    names = dict.fromkeys(one.value for one in (*CellStatus, *OutcomeKind))
    return table(("outcome", "meaning"), [(f"`{name}`", RUN_OUTCOMES[name]) for name in names])


def exit_codes_part() -> str:
    """Return the exit codes of the command line."""
    rows = [
        (one.code.removeprefix("exit-"), one.meaning)
        for one in explanations()
        if one.code.startswith("exit-")
    ]
    return table(("code", "meaning"), rows)


def exceptions_part() -> str:
    """Return the exceptions with their exit codes."""
    found = [one for one in vars(errors).values() if _is_error(one)]
    rows = [(f"`{one.__name__}`", str(one.exit_code), first_paragraph(one)) for one in found]
    return table(("exception", "exit code", "meaning"), rows)


def metrics_part() -> str:
    """Return the sampled metrics."""
    rows = [(f"`{one.tag}`", one.title, one.meaning) for one in METRICS.values()]
    return table(("metric", "title", "meaning"), rows)


def conditions_part() -> str:
    """Return the conditions that make two sides incomparable, and the gate's metrics."""
    conditions = ", ".join(f"`{one}`" for one in CONDITIONS)
    metrics = ", ".join(f"`{one}`" for one in GATE_METRICS)
    return f"Conditions: {conditions}.\n\nMetrics of `gate` and `history`: {metrics}."


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, errors.EnginescopeError)
