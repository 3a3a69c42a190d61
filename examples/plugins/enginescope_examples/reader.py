"""A reader turns another tool's file into runs: `import` and `compare` take it.

enginescope asks readers of packages about files that no built-in reader knows. `fits` looks at the
first MiB; `read` returns a result for each run. This reader reads a CSV file of latencies.
"""

import csv
import io

from enginescope.core.errors import FormatError
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.readers import ForeignFile
from enginescope.judge.samples import Samples, frozen
from enginescope.records.plan.build import ToolReport


def fits(file: ForeignFile) -> bool:
    return file.head.startswith(b"case,latency_ms")


def read(file: ForeignFile) -> list[BenchmarkResult]:
    times: dict[str, list[float]] = {}
    rows = csv.DictReader(io.StringIO(file.content().decode()))
    for line, row in enumerate(rows, 2):
        try:
            times.setdefault(row["case"], []).append(float(row["latency_ms"]))
        except (TypeError, ValueError):
            why = f"{row['latency_ms']!r} is not a number"
            raise FormatError(file.name, where=f"line {line}", why=why) from None
    return [
        BenchmarkResult(
            name=case,
            report=ToolReport(tool="stopwatch"),
            samples=Samples(metric="latency", values_ms=frozen(values)),
        )
        for case, values in times.items()
    ]
