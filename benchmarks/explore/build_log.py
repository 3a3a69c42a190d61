"""How long it takes to read a verbose build log, and how that grows.

Each log is read several times; the middle and the slowest are shown, and the limit is 0.5 s for
3 MB. Without arguments: the recorded log of the sample model, once, three and thirty times over.

python benchmarks/explore/build_log.py [--rounds N] [LOG …]
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import time
from pathlib import Path

from enginescope.analysis.build_log.build_log_summary import (
    choices,
    fusion_groups,
    reformat_costs,
    tuning_costs,
)
from enginescope.formats.build_log.build_log import build_story_of

RECORDED = (
    Path(__file__).resolve().parents[2]
    / "tests/data/trt86-h200-process/small_convnet.onnx.engine.build.log.gz"
)
LIMIT_S_PER_MB = 0.5 / 3


def logs(paths: list[Path]) -> list[tuple[str, bytes]]:
    if paths:
        return [(path.name, content(path)) for path in paths]
    whole = content(RECORDED)
    return [(f"recorded × {times}", whole * times) for times in (1, 3, 30)]


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def seconds(data: bytes) -> tuple[float, float]:
    """Seconds of reading, and of the views on what was read."""
    begin = time.perf_counter()
    story, _ = build_story_of(data, "log")
    read = time.perf_counter()
    for view in (choices, tuning_costs, fusion_groups, reformat_costs):
        view(story)
    return read - begin, time.perf_counter() - read


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{'log':40} {'MB':>6} {'read s':>8} {'slowest':>8} {'views s':>8} {'s/MB':>7}")
    within = True
    for name, data in logs(options.logs):
        pairs = [seconds(data) for _ in range(options.rounds)]
        reads = [read for read, _ in pairs]
        middle, size_mb = statistics.median(reads), len(data) / 1e6
        views = statistics.median(view for _, view in pairs)
        rate = middle / size_mb
        within = within and rate <= LIMIT_S_PER_MB
        figures = f"{size_mb:6.2f} {middle:8.3f} {max(reads):8.3f} {views:8.3f} {rate:7.4f}"
        print(f"{name[:40]:40} {figures}")
    print(f"{'within' if within else 'NOT within'} 0.5 s for 3 MB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
