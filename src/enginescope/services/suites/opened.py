"""Open a suite that ran, finished or not."""

from __future__ import annotations

from os import PathLike, fspath

from enginescope.analysis.suites.suite_view import SuiteView
from enginescope.core.errors import UsageError
from enginescope.core.suggest import closest
from enginescope.services.store_access import store_at
from enginescope.store.suite_folder import suite_folders, suite_named


def open_suite(name: str | PathLike[str], *, store: str | PathLike[str] | None = None) -> SuiteView:
    """Open a suite that ran, finished or not.

    Args:
        name: Name of the suite in the store, or its folder.
        store: Folder or database of runs; by default ``$ENGINESCOPE_HOME``, else the platform's.

    Raises:
        UsageError: The store has no such suite.
        FormatError: The suite's plan cannot be read.
    """
    text = fspath(name)
    home = store_at(store).suite_home()
    folder = suite_named(text, home)
    if folder is None:
        names = [known.path.name for known in suite_folders(home)]
        near = closest(text, names)
        raise UsageError(
            f"no suite {text!r}",
            why=f"{home} has {', '.join(names) if names else 'none'}",
            hint=f"did you mean {near}?" if near else "enginescope suite SUITE runs one",
        )
    return SuiteView(folder.result())
