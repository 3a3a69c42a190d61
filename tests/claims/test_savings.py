"""What findings may save: one figure of each kind, in every output, and rows that add up."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from enginescope.analysis.claims.layer_claims import Saving, together
from enginescope.render.plans.findings import (
    Linted,
    findings_json,
    findings_sarif,
    first_changes,
    group_table,
    rule_table,
    saving_words,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.first_screen import findings
from enginescope.rules.engine import LintReport
from tests.claims.recorded import PLANS, name_of, report_of, view_of

every_plan = pytest.mark.parametrize("file", PLANS, ids=name_of)
KINDS = {"bound_ms": "ms", "item_ms": "ms per item", "unknown_of_ms": "of ms"}


def added(savings: Iterable[dict]) -> dict[str, float | None]:
    rows = list(savings)
    known = {kind: [row[kind] for row in rows if row[kind] is not None] for kind in KINDS}
    return {kind: pytest.approx(sum(times)) if times else None for kind, times in known.items()}


def whole(report: LintReport) -> dict[str, float | None]:
    return {kind: getattr(report.saving, kind) for kind in KINDS}


@every_plan
def test_rows_of_all_tables_and_of_the_page_add_up_to_the_caption(file: Path) -> None:
    report, view = report_of(file), view_of(file)
    linted = [Linted(source=str(file), plan=view.run.plan, report=report)]
    (document,) = json.loads(findings_json(linted))["plans"]
    (sarif,) = json.loads(findings_sarif(linted))["runs"]
    assert whole(report) == added(one["saving"] for one in document["findings"])
    assert whole(report) == added(one["saving"] for one in document["groups"])
    assert whole(report) == added(one["properties"]["saving"] for one in sarif["results"])
    assert document["saving"]["bound_ms"] == report.saving.bound_ms
    for table in (rule_table(report), group_table(report, None)):
        assert table is not None or not report.findings
        texts = zip(table.headers, zip(*table.rows, strict=True), strict=True) if table else ()
        columns = {
            title: [float(text) for text in column if text != "—"]
            for title, column in texts
            if title in KINDS.values()
        }
        check_columns(report, columns, rel=5e-3)
    assert (saving_words(report) is None) is (report.sum_ms is None or not report.findings)
    section = findings(PageSubject(view))
    assert section is not None
    for table in section.tables:
        check_columns(report, {one.title: one.values for one in table.columns}, rel=1e-6)


def check_columns(report: LintReport, columns: dict, rel: float) -> None:
    """There is a column for each kind of saving, and its rows add up to the caption."""
    for kind, title in KINDS.items():
        total = getattr(report.saving, kind)
        assert (title in columns) is (total is not None)
        if total is not None:
            assert sum(ms or 0.0 for ms in columns[title]) == pytest.approx(total, rel=rel)


@every_plan
def test_savings_are_bounded_ranked_and_change_no_interface(file: Path) -> None:
    report = report_of(file)
    for several in (report.findings, report.groups):
        ranks = [one.saving.rank for one in several]
        assert ranks == sorted(ranks)
    changes = first_changes(report, 3)
    if any(group.saving.known_ms for group in report.groups):
        assert all(": at most " in change for change in changes)
    else:
        assert not any(": at most " in change for change in changes)
    assert (report.saving.bound_ms or 0.0) <= (report.engine_ms or 0.0) * (1 + 1e-9)
    # Channels of an image, and classes or depth, were the first advice of a ResNet and a ViT.
    plan = view_of(file).run.plan
    names = {one.tensor.name for one in plan.inputs}
    for finding in report_of(file).findings:
        if finding.code in ("PLAN102", "PLAN108"):
            fed = [one for one in plan.layers[finding.layers[0]].inputs if one.name in names]
            assert not (fed and "input channels" in finding.message), finding.message


def test_kinds_are_not_added_and_what_a_change_saves_alone_is_said() -> None:
    known, item = Saving(bound_ms=1.0, engine_ms=4.0), Saving(item_ms=9.0, engine_ms=4.0)
    unknown = Saving(unknown_of_ms=3.0, engine_ms=4.0)
    both = together((unknown, item, known, known))
    assert (both.bound_ms, both.item_ms, both.unknown_of_ms) == (2.0, 9.0, 3.0)
    assert sorted((unknown, item, known), key=lambda saving: saving.rank) == [known, item, unknown]
    assert both.share_pct(both.bound_ms) == 50.0
    assert Saving(bound_ms=0.1, alone_ms=0.2).shared_alone_ms == 0.2
    assert Saving(bound_ms=0.1, alone_ms=0.11).shared_alone_ms is None
    assert Saving(unknown_of_ms=0.1).shared_alone_ms is None
