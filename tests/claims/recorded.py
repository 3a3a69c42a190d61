from functools import lru_cache
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.rules.engine import LintReport, lint
from enginescope.rules.view import LintInput
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.conftest import DATA, SHARED

#: Recorded for the project, and other projects' where they are at hand.
PLANS = sorted(
    file
    for folder in (DATA, SHARED)
    for pattern in ("*.graph.json", "*LayerInfo.json", "*engine_info.json")
    for file in folder.rglob(pattern)
)


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name.partition('.')[0]}"


@lru_cache
def view_of(file: Path) -> RunView:
    return RunView(resolve_plan(str(file)).as_run())


@lru_cache
def report_of(file: Path) -> LintReport:
    given = LintInput.of_run(view_of(file))
    assert given is not None
    return lint(given)
