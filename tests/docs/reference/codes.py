"""Every code and closed list of words that enginescope prints: notices, verdicts, outcomes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import enginescope
from enginescope.analysis.verdicts.comparability import CONDITIONS
from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.cli import main as command_line
from enginescope.core import errors
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import OutcomeKind
from enginescope.records.suite.suite import CellStatus
from enginescope.records.verdict.gate import FAILING, GateOutcome
from enginescope.records.verdict.verdict import Reason, VerdictKind
from enginescope.render.verdicts.gate_sarif import RULES as GATE_RULES
from enginescope.rules.catalogue import RULES
from tests.docs.reference.docstrings import first_paragraph
from tests.docs.reference.marked_page import table

NOTICES = Path(__file__).with_name("notices.txt")
_CODE = re.compile(r"([WIH])-[A-Z0-9]+(-[A-Z0-9]+)*")

VERDICTS = {
    VerdictKind.FASTER: "The interval excludes 1 and the ratio is beyond the threshold. Of sizes "
    "`smaller`, of rates `higher`.",
    VerdictKind.SLOWER: "The same in the other direction. Of sizes `larger`, of rates `lower`.",
    VerdictKind.SAME: "The whole interval lies within the threshold.",
    VerdictKind.UNDECIDED: "Inconclusive; the reason says what would settle it.",
    VerdictKind.INCOMPARABLE: "The conditions of the two sides differ.",
}
REASONS = {
    Reason.BEYOND_THRESHOLD: "The interval excludes 1, and the ratio is beyond the threshold.",
    Reason.WITHIN_THRESHOLD: "The whole interval is within the threshold.",
    Reason.EXACT: "The figure is the same in every process, such as an engine's size.",
    Reason.INTERVAL_TOO_WIDE: "More rounds, processes or samples would settle it; the verdict says "
    "how many.",
    Reason.NO_INTERVAL: "Too few rounds, processes or independent samples for an interval.",
    Reason.FEW_SAMPLES: "Too few samples in a process for this percentile; the verdict says how "
    "many it needs.",
    Reason.UNSTABLE: "Something disturbed a process in most rounds, or one side is unstable by "
    "itself.",
    Reason.ONE_VALUE: "Each process has one such figure, and a side has one process.",
    Reason.CLOCK_STEP: "The times come in steps that are larger than the difference.",
    Reason.DIFFERENT: "Conditions differ; the verdict names them.",
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
EXIT_CODES = {
    0: "Success.",
    1: "The result is bad: a regression, a wrong output, a finding, a changed file.",
    2: "User error: an option, a path, a missing package.",
    3: "A run or build failed, or a result could not be stored.",
    command_line.EXIT_BUG: "A bug of enginescope; please report the traceback.",
    command_line.EXIT_INTERRUPTED: "Interrupted.",
    command_line.EXIT_PIPE_CLOSED: "The reader of the output closed the pipe.",
}


@cache
def notices() -> dict[str, dict[str, tuple[str, str]]]:
    """Return group to code to its meaning and what to do."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in NOTICES.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            group = found.setdefault(line.removeprefix("# "), {})
        else:
            code, meaning, action = line.split(" | ")
            assert all(code not in one for one in found.values()), f"{code} is listed twice"
            group[code] = (meaning, action)
    return found


def source_codes() -> set[str]:
    """Return the codes of notices and hints in the source; `{level}` stands for both levels."""
    found = set()
    for path in Path(enginescope.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if _CODE.fullmatch(node.value) else set()
            elif isinstance(node, ast.JoinedStr):
                text = ast.unparse(node)[2:-1]
                if re.fullmatch(r"\{level\}(-[A-Z]+)+", text):
                    found |= {text.format(level=level) for level in "WI"}
    return found


def notices_part() -> str:
    """Return a table of notices for each group."""
    made = []
    for group, codes in notices().items():
        rows = [(f"`{code}`", *about) for code, about in codes.items()]
        made.append(f"### {group}\n\n{table(('code', 'meaning', 'what to do'), rows)}")
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
    return table(("reason", "meaning"), [(f"`{one.value}`", REASONS[one]) for one in Reason])


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
    raised = {one.exit_code for one in vars(errors).values() if _is_error(one)}
    assert raised <= set(EXIT_CODES), raised
    return table(("code", "meaning"), [(str(code), text) for code, text in EXIT_CODES.items()])


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
