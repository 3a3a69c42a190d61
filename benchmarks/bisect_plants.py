"""How often `validate --bisect` names the right node, and whether its reason is true.

Each plant is one fault at one node of a model. By default 40: damaged weights and replaced
operators of six kinds, in FP32 on `ort-cpu` and in FP16 on `ort-cpu:fp16`. `--set faults` has 76
others: 40 in FP16 or quantized, 36 in FP32. A run of both models that the search knows nothing of
judges the reason. docs/contributing/validation-evidence.md has the counts. Ends with 1 if fewer are
named than there, or if a reason is false.

python benchmarks/bisect_plants.py [--set faults] [--only FAMILY] [--runs-in FP32]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.plants.in_process import workers_in_process
from tests.plants.plants import FP32_PLANTS, OPERATOR_PLANTS, PLANTS, named

#: The plants of each set, and how many of them are not named.
SETS = {"operators": (OPERATOR_PLANTS, 2), "faults": (PLANTS + FP32_PLANTS, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=SETS, default="operators", help="Look for one set.")
    parser.add_argument("--only", metavar="FAMILY", help="Look for the plants of one family.")
    parser.add_argument("--runs-in", choices=("FP16", "Q/DQ", "FP32"), help="Look for one kind.")
    options = parser.parse_args()
    plants, unnamed = SETS[options.set]
    chosen = [
        plant
        for plant in plants
        if options.only in (None, plant.family) and options.runs_in in (None, plant.runs_in)
    ]
    print("| family | fault | runs in | named | cause | | reason |")
    print("|---|---|---|---|---|---|---|")
    right = false = 0
    for plant in chosen:
        with workers_in_process(), tempfile.TemporaryDirectory() as folder:
            found = named(plant, Path(folder))
        right += found.is_right
        false += bool(found.false)
        verdict = "yes" if found.is_right else f"no: {', '.join(found.expected)}"
        reason = f"**false: {'; '.join(found.false)}**: {found.why}" if found.false else found.why
        row = (plant.family, plant.kind, plant.runs_in, found.node or "—", found.cause, verdict)
        print(f"| {' | '.join((*row, reason))} |", flush=True)
    print(f"\n{right} of {len(chosen)} named, {false} with a false reason")
    return 0 if right >= len(chosen) - unnamed and not false else 1


if __name__ == "__main__":
    sys.exit(main())
