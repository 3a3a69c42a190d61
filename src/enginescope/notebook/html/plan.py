"""A plan in a notebook: what it consists of, and where its time goes."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.claims.layer_time import WholeRequest
from enginescope.analysis.onnx.onnx_export import onnx_match_notice
from enginescope.analysis.plans.exploration import Exploration, explore
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.judge.notice import Notice
from enginescope.notebook.html.fragment import fact_list, fragment, notice_list, text_table
from enginescope.render.plans.explore_text import explore_tables, summary_rows

_TOP = 5


def plan_html(view: PlanView, whole: WholeRequest | None = None) -> str:
    """Return the summary and the tables that `explore` prints.

    Args:
        whole: Metric and mean in ms of whole requests, timed without a profiler.
    """
    found = explore(view.plan.name, view.plan, view.profile, whole=whole)
    return exploration_html(found, _mismatch(view))


def exploration_html(found: Exploration, notices: Sequence[Notice] = ()) -> str:
    """Return the summary and the tables of an explored plan.

    Args:
        notices: Notices on the files, after those on the plan.
    """
    return fragment(
        found.name,
        fact_list(summary_rows(found)),
        *map(text_table, explore_tables(found, top=_TOP)),
        notice_list((*found.notices, *notices)),
    )


def _mismatch(view: PlanView) -> tuple[Notice, ...]:
    """Say that the model given beside the plan may be another one."""
    if view.onnx is None or view.onnx_map is None:
        return ()
    found = onnx_match_notice(view.plan, view.onnx_map, view.onnx.name or "the model")
    return (found,) if found else ()
