"""What verbs with a report do at the end: write its files, print it, and name the next steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.cli.messages import next_steps, words
from enginescope.cli.options import write_output
from enginescope.core.jsonio import encode
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import replace
from enginescope.records.progress import COMPARISON_TAG
from enginescope.services.output_files import check_outputs

if TYPE_CHECKING:
    from rich.console import RenderableType

    from enginescope.render.html.answer_page import Answer

#: Options of the files of an answer.
_FILES = ("markdown", "csv", "html", "junit", "sarif", "card")


def print_json(document: bytes | Iterable[bytes]) -> None:
    """Print a JSON document, or its parts, on standard output."""
    sys.stdout.buffer.writelines([document] if isinstance(document, bytes) else document)
    sys.stdout.flush()


def print_data(data: object) -> None:
    """Print records and plain values as a JSON document on standard output."""
    print_json(encode(data))


def print_paths(paths: Iterable[Path], options: Mapping[str, Any]) -> None:
    """Print files, a line each, or as JSON."""
    texts = list(map(str, paths))
    if options["as_json"]:
        print_data(texts)
    else:
        print("\n".join(texts))


def check_files(options: Mapping[str, Any], *models: object) -> None:
    """Refuse a file of an answer that cannot be written, before anything is measured."""
    check_outputs([options.get(name) for name in _FILES], list(map(str, models)))


@deferred_signals()
def present_answer(
    answered: Answer,
    options: Mapping[str, Any],
    *steps: tuple[str, str],
    rows: Sequence[RenderableType] | None = None,
    is_whole: bool = True,
    **writers: Callable[[], bytes],
) -> None:
    """Write the files that were asked for, then print JSON, or the answer and the next steps.

    A signal waits until all is written: it would take away the answer of a finished measurement.

    Args:
        rows: What a terminal shows in place of the tables.
        is_whole: Whether a terminal shows every fact and notice.
        writers: Return a further file, or one in place of the answer's, by the name of its option.
    """
    from enginescope.render.base.answer_tables import answer_markdown
    from enginescope.render.base.text import show_answer
    from enginescope.render.html.answer_page import written_csv, written_json, written_page

    answered = replace(answered, steps=steps)
    every: dict[str, Callable[[], bytes]] = {
        "markdown": lambda: answer_markdown(answered),
        "csv": lambda: written_csv(answered),
        "html": lambda: written_page(answered),
        "json": lambda: written_json(answered),
        **writers,
    }
    for name, write in every.items():
        if options.get(name) is not None:
            write_output(options[name], write())
    if options["as_json"]:
        print_json(every["json"]())
    else:
        show_answer(answered, rows, is_whole=is_whole)
        end_report(options, *steps)


def runs_step(
    options: Mapping[str, Any], comparison: str | None, purpose: str = "its runs"
) -> tuple[str, str]:
    """Return the next step that lists the runs of a comparison."""
    return step(options, purpose, "runs list", "--tag", f"{COMPARISON_TAG}{comparison}")


def end_report(options: Mapping[str, Any], *steps: tuple[str, str]) -> None:
    """End a verb: a file that it wrote, then `steps`; nothing beside JSON."""
    if options["as_json"]:
        return
    files = [options.get(name) for name in ("html", "markdown", "csv")]
    written = [("open", str(file)) for file in files if file][:1]
    next_steps(*written, *steps)


def step(
    options: Mapping[str, Any], purpose: str, verb: str, *arguments: object
) -> tuple[str, str]:
    """Return a next step: a verb, with the store of this command line, and its arguments."""
    store = options["store_folder"]
    at = ("--store", store) if store else ()
    return purpose, words("enginescope", *verb.split(), *at, *arguments)
