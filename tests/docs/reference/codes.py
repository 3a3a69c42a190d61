"""Every code and closed list of words that enginescope prints: notices, verdicts, outcomes."""

from collections.abc import Iterable

from enginescope.analysis.verdicts.comparability import CONDITIONS
from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.core import errors
from enginescope.judge.verdict import EvidenceLevel, Reason, VerdictKind
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import OutcomeKind
from enginescope.records.suite.suite import CellStatus
from enginescope.records.verdict.gate import FAILING, GateOutcome
from enginescope.render.verdicts.gate_answer import RULES as GATE_RULES
from enginescope.rules.catalogue import RULES
from enginescope.services.explain import explain, explanations
from tests.docs.reference.docstrings import first_paragraph
from tests.docs.reference.marked_page import table


def notices_part() -> str:
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
    rows = [(f"`{code}`", f"`{name}`", text, advice) for code, name, _, text, advice in GATE_RULES]
    return table(("code", "name", "meaning", "what to do"), rows)


def verdicts_part() -> str:
    return table(("verdict", "meaning"), _rows(one.value for one in VerdictKind))


def reasons_part() -> str:
    return table(("reason", "meaning"), _rows(one.value for one in Reason))


def evidence_part() -> str:
    """Return the evidence levels, the weakest first."""
    meanings = (explain(one.value).meaning.partition(": ")[2] for one in EvidenceLevel)
    rows = [
        (one.value, text[:1].upper() + text[1:])
        for one, text in zip(EvidenceLevel, meanings, strict=True)
    ]
    return table(("level", "meaning"), rows)


def gate_part() -> str:
    rows = [
        (f"`{one.value}`", "yes" if one in FAILING else "no", explain(one.value).meaning)
        for one in GateOutcome
    ]
    return table(("outcome", "fails", "meaning"), rows)


def outcomes_part() -> str:
    names = dict.fromkeys(one.value for one in (*CellStatus, *OutcomeKind))
    return table(("outcome", "meaning"), _rows(names))


def exit_codes_part() -> str:
    rows = [
        (one.code.removeprefix("exit-"), one.meaning)
        for one in explanations()
        if one.code.startswith("exit-")
    ]
    return table(("code", "meaning"), rows)


def exceptions_part() -> str:
    found = [one for one in vars(errors).values() if _is_error(one)]
    rows = [(f"`{one.__name__}`", str(one.exit_code), first_paragraph(one)) for one in found]
    return table(("exception", "exit code", "meaning"), rows)


def metrics_part() -> str:
    rows = [(f"`{one.tag}`", one.title, one.meaning) for one in METRICS.values()]
    return table(("metric", "title", "meaning"), rows)


def conditions_part() -> str:
    conditions = ", ".join(f"`{one}`" for one in CONDITIONS)
    metrics = ", ".join(f"`{one}`" for one in GATE_METRICS)
    return f"Conditions: {conditions}.\n\nMetrics of `gate` and `history`: {metrics}."


def _rows(codes: Iterable[str]) -> list[tuple[str, str]]:
    return [(f"`{code}`", explain(code).meaning) for code in codes]


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, errors.EnginescopeError)
