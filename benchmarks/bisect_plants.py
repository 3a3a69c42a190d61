"""How often `validate --bisect` names the right node: 76 plants over six families.

Each plant is one fault at one node of a model: 40 run on `ort-cpu:fp16` or quantized, 36 in FP32 on
`ort-cpu`. docs/reference/bisection.md has the counts. Ends with 1 if fewer are named than before.

python benchmarks/bisect_plants.py [--only FAMILY] [--runs-in FP32]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.plants.in_process import workers_in_process
from tests.plants.plants import FP32_PLANTS, PLANTS, named

ALL_PLANTS = PLANTS + FP32_PLANTS
#: Plants that are not named: two in FP16, one in FP32.
UNNAMED = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="FAMILY", help="Look for the plants of one family.")
    parser.add_argument("--runs-in", choices=("FP16", "Q/DQ", "FP32"), help="Look for one kind.")
    options = parser.parse_args()
    chosen = [
        plant
        for plant in ALL_PLANTS
        if options.only in (None, plant.family) and options.runs_in in (None, plant.runs_in)
    ]
    print("| family | fault | runs in | named | cause | |")
    print("|---|---|---|---|---|---|")
    right = 0
    for plant in chosen:
        with workers_in_process(), tempfile.TemporaryDirectory() as folder:
            found = named(plant, Path(folder))
        right += found.is_right
        verdict = "yes" if found.is_right else f"no: {', '.join(found.expected)}"
        row = (plant.family, plant.kind, plant.runs_in, found.node or "—", found.cause, verdict)
        print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{right} of {len(chosen)} named right")
    return 0 if right >= len(chosen) - UNNAMED else 1


if __name__ == "__main__":
    sys.exit(main())
