"""Time of all lint rules over synthetic plans of growing size: median of five runs each.

python benchmarks/explore/lint.py [LAYERS ...]
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import synthetic_plans

from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.environment import Device
from enginescope.rules.catalogue import RULES, LintConfig
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput

SIZES = (5_047, 50_058)
RUNS = 5
#: As recorded on two cores; its loading takes as long again.
TREX = "trex 0.2.1: four linters, 22 s at 50,058 layers"


def given(kind: str, layers: int) -> LintInput:
    raw = synthetic_plans.chain(layers) if kind == "chain" else synthetic_plans.transformer(layers)
    times = synthetic_plans.profile_of(raw)
    plan, _ = parse_plan(json.dumps(raw).encode(), kind)
    profile, _ = parse_profile(json.dumps(times).encode(), kind)
    return LintInput(plan=plan, profile=profile, device=Device(name="RTX 3090"))


def median_ms(subject: LintInput, config: LintConfig) -> tuple[float, int]:
    spent = []
    for _ in range(RUNS):
        start = time.perf_counter()
        found = len(lint(subject, config).findings)
        spent.append(1e3 * (time.perf_counter() - start))
    return statistics.median(spent), found


def main() -> None:
    sizes = tuple(int(one) for one in sys.argv[1:]) or SIZES
    print(TREX)
    for kind in ("chain", "transformer"):
        for size in sizes:
            subject = given(kind, size)
            whole, found = median_ms(subject, LintConfig())
            print(
                f"{kind:12} {len(subject.plan.layers):7,} layers  {whole:8.1f} ms  {found:,} found"
            )
            if size == max(sizes):
                for rule in RULES:
                    alone, found = median_ms(subject, LintConfig(select=(rule.code,)))
                    print(f"    {rule.code} {rule.name:28} {alone:8.1f} ms  {found:,} found")


if __name__ == "__main__":
    main()
