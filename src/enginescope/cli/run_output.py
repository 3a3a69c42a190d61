"""What verbs that make runs print at the end: screens, one table or JSON, and tags with runs."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.messages import is_verbose, note
from enginescope.cli.options import write_output
from enginescope.cli.report_output import end_report, print_json, step
from enginescope.core.errors import StoreError
from enginescope.judge.units import counted
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.run import Run
from enginescope.store.location import StorePlace
from enginescope.store.row import RunRow

#: Up to so many runs get a screen each; more get one table.
SCREENS = 2
#: Up to so many runs have their report named as the next step.
REPORTED = 12


@contextmanager
def noting_tags(tags: Sequence[str], place: StorePlace | None) -> Iterator[None]:
    """Note the tags that had runs before this block and have more after it."""
    former = _rows(tags, place)
    yield
    for tag, rows in _rows([tag for tag, rows in former.items() if rows], place).items():
        if len(rows) > len(former[tag]):
            had = counted(len(former[tag]), "run")
            has_rounds = any(name.startswith(COMPARISON_TAG) for row in rows for name in row.tags)
            each = " (each process of a comparison is a run)" if has_rounds else ""
            note(f"tag {tag} had {had}; it has {len(rows):,} now{each}")


def _rows(tags: Sequence[str], place: StorePlace | None) -> dict[str, tuple[RunRow, ...]]:
    from enginescope.store.archive import Store

    try:
        return {tag: Store(place).rows(tag=tag) for tag in tags}
    except StoreError:  # the verb itself says why
        return {}


def present(runs: Sequence[Run], options: Mapping[str, Any]) -> None:
    """Write the files that were asked for, then print `runs` as JSON or screens."""
    from enginescope.render.base.figures import run_steps
    from enginescope.render.page.export import summary_json

    views = [RunView(run) for run in runs]
    if options.get("markdown") is not None:
        from enginescope.render.page.markdown import report_markdown

        write_output(options["markdown"], report_markdown(views))
    if options.get("html") is not None:
        from enginescope.render.page.page import report_page

        write_output(options["html"], report_page(views))
    if options.get("card") is not None:
        from enginescope.render.html.answer_page import slide_png
        from enginescope.render.page.report import subject_slide
        from enginescope.render.plans.plan_headline import PageSubject

        write_output(options["card"], slide_png(subject_slide(list(map(PageSubject, views)))))
    if options["as_json"]:
        print_json(summary_json(views))
    else:
        _show(views)
    steps = [step(options, "all runs", "runs")]
    ids = [run.id[:8] for run in runs]
    if len(ids) == 1 and not is_verbose():
        steps.insert(0, step(options, "every figure", "runs show", *ids, "-v"))
    if len(ids) <= REPORTED:
        steps.insert(0, step(options, "report", "report", *ids))
    if len(ids) == 1:
        steps[:0] = run_steps(views[0], options["store_folder"])
    end_report(options, *steps)


def _show(views: Sequence[RunView]) -> None:
    from enginescope.render.base.facts import subject_names
    from enginescope.render.base.text import runs_table, screen_width, show, summary

    width = screen_width()
    if len(views) > SCREENS:
        show(runs_table(views, width=width))
        return
    names = subject_names([view.run.job for view in views])
    for number, (view, name) in enumerate(zip(views, names, strict=True)):
        if number:
            sys.stdout.write("\n")
        show(summary(view, width=width, name=name, is_whole=is_verbose()))
