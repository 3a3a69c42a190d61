"""docs/explanation states the figures and names that the code has."""

import re
from pathlib import Path

from enginescope.analysis.errors.output_tolerance import TOLERANCES
from enginescope.analysis.layers.reformats import REFORMATS, WHOLE_PARTS
from enginescope.judge.stats import autocorrelation
from enginescope.judge.stats.describe import needed_samples
from enginescope.records.plan.plan import INERT_TYPES
from enginescope.records.run.job import StopRule, WarmUp
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "explanation"
MARKED = re.compile(r"`([^`]+)`")


def text_of(name: str) -> str:
    return " ".join((FOLDER / name).read_text(encoding="utf-8").split())


def rows(name: str, header: str) -> list[list[str]]:
    _, found, after = (FOLDER / name).read_text(encoding="utf-8").partition(header)
    assert found, header
    lines = after.splitlines()[2:]
    end = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def test_every_special_layer_type_is_in_the_glossary() -> None:
    listed = {
        one for row in rows("glossary.md", "| type | meaning |") for one in MARKED.findall(row[0])
    }
    known = {*INERT_TYPES, *CONVOLUTIONS, *MATMULS, *REFORMATS, *WHOLE_PARTS}
    assert known - listed == set()


def test_terms_are_in_order() -> None:
    for header in (
        "## Words of TensorRT\n\n| term | meaning |",
        "## Words of enginescope\n\n| term | meaning |",
    ):
        terms = [row[0].lower() for row in rows("glossary.md", header)]
        assert len(terms) > 10
        assert len(set(terms)) == len(terms)


def test_constants_of_intervals() -> None:
    text = text_of("intervals.md")
    assert f"· (1 + {autocorrelation._SHORT_SERIES} τ₁/n)`" in text
    assert f"down to {autocorrelation._FEWEST_BLOCKS} blocks" in text
    assert f"fewer than {autocorrelation.BATCHES} samples" in text
    needed = [needed_samples(p) for p in (90, 95, 99)]
    assert "{} for p90, {} for p95 and {} for p99".format(*needed) in text


def test_defaults_of_a_measurement() -> None:
    text, stop, warmup = text_of("measurement.md"), StopRule(), WarmUp()
    assert f"by default {warmup.time_ms:g} ms and {warmup.iterations}" in text
    assert f"within ±{stop.precision_pct:g} % (`--precision`)" in text
    assert f"after at least {stop.min_samples} samples" in text
    assert f"and {stop.min_time_ms:g} ms" in text
    assert f"`--max-time` ({stop.max_time_ms / 1000:g} s)" in text


def test_limits_of_outputs() -> None:
    listed = {}
    for names, *cells in rows("outputs.md", "| limits of | RMSE"):
        for name in MARKED.findall(names):
            listed[name] = tuple(map(float, cells))
    assert listed == {
        one.name: (one.error_to_spread, one.peak_to_spread, one.channel_error, one.resolution)
        for one in TOLERANCES.values()
    }
