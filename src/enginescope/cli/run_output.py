"""What verbs that make runs print at the end: screens, one table, or JSON.

Which tags already had runs.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.messages import next_steps, note, words
from enginescope.cli.report_output import print_json
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
    """Return the runs by tag; empty if the store cannot be read."""
    from enginescope.store.archive import Store

    try:
        return {tag: Store(place).rows(tag=tag) for tag in tags}
    except StoreError:  # the verb itself says why
        return {}


def present(runs: Sequence[Run], *, as_json: bool, store: StorePlace | None = None) -> None:
    """Print `runs` on standard output.

    Args:
        store: The store, where it was named on the command line: the next command needs it too.
    """
    views = [RunView(run) for run in runs]
    if as_json:
        from enginescope.render.page.export import summary_json

        print_json(summary_json(views))
        return
    from enginescope.render.base.facts import subject_names
    from enginescope.render.base.text import runs_table, show, summary

    width = shutil.get_terminal_size().columns
    if len(views) > SCREENS:
        show(runs_table(views, width=width))
    else:
        names = subject_names([view.run.job for view in views])
        for number, (view, name) in enumerate(zip(views, names, strict=True)):
            if number:
                sys.stdout.write("\n")
            show(summary(view, width=width, name=name))
    _next(views, ("--store", store) if store else ())


def _next(views: Sequence[RunView], at: tuple[object, ...]) -> None:
    steps = [("all runs", words("enginescope", "runs", *at))]
    ids = [view.id[:8] for view in views]
    if len(ids) <= REPORTED:
        steps.insert(0, ("report", words("enginescope", "report", *at, *ids)))
    next_steps(*steps)
