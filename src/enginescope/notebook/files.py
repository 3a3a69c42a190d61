"""Results that are files, with their display."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from enginescope.notebook.display import displayed, shown_as
from enginescope.render.page.report import WrittenReport
from enginescope.services.plans import archive as archive_service
from enginescope.services.plans import process as process_service
from enginescope.services.plans import report as report_service


class ShownArchive(archive_service.CreatedArchive, frozen=True, kw_only=True):
    """An archive; in notebooks the files in it, plain HTML."""

    def _repr_html_(self) -> str:
        return _table(str(self.path), (entry.name for entry in self.manifest.files))


class ShownProcess(process_service.ProcessResult, frozen=True, kw_only=True):
    """The files of an engine; in notebooks a table of them, plain HTML."""

    def _repr_html_(self) -> str:
        return _table(f"Run {self.run_id}" if self.run_id else "No run", self.files)


class ShownReport(WrittenReport, frozen=True, kw_only=True):
    """A report; in notebooks its files and what was skipped, plain HTML."""

    def _repr_html_(self) -> str:
        return _table(str(self.folder), self.files, self.skipped)


def _table(title: str, files: Iterable[Path | str], skipped: Iterable[tuple[str, str]] = ()) -> str:
    from enginescope.notebook.html.fragment import data_table, fragment

    return fragment(
        title,
        data_table("Files", ("file",), ((str(file),) for file in files)),
        data_table("Skipped", ("file", "why"), skipped),
    )


archive = displayed(archive_service.archive, shown_as(ShownArchive))
process = displayed(process_service.process, shown_as(ShownProcess))
write_report = displayed(report_service.write_report, shown_as(ShownReport))
