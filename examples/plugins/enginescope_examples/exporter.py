"""An exporter writes samples for another tool: `runs export --format` takes it.

It gets a series for each job, and the name of the file to write. It returns the content of this
file, and of further files beside it, by path. This exporter writes the CSV file of the reader.
"""

import csv
import io
from collections.abc import Sequence

from enginescope.formats.benchmarks.benchmark_series import ExportedSeries


def csv_file(series: Sequence[ExportedSeries], name: str) -> dict[str, bytes]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", "latency_ms"))
    for one in series:
        writer.writerows((one.name, repr(float(value))) for value in one.values_ms)
    return {name: text.getvalue().encode()}
