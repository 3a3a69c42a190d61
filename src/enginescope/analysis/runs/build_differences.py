"""How the builds of engine files differ, as their passports tell."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from enginescope.judge.notice import Notice
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.run import Run


def build_notices(runs: Mapping[str, Run]) -> tuple[Notice, ...]:
    """Return in what the builds of engine files differ: GPU, TensorRT version, options.

    Engines that a run built itself are skipped: its backend names their options.

    Args:
        runs: By the label of their side, the first being the base.
    """
    builds = {
        label: run.build
        for label, run in runs.items()
        if run.build is not None and run.job.subject.kind == "engine"
    }
    facts: tuple[tuple[str, str, str, Callable[[BuildReport], str | None]], ...] = (
        ("W-OTHER-GPU", "on different GPUs", "the GPU", lambda build: build.device),
        ("W-OTHER-TENSORRT", "by different TensorRT versions", "TensorRT", lambda b: b.tensorrt),
    )
    notices: list[Notice] = []
    for code, how, whose, fact in facts:
        known = {label: value for label, build in builds.items() if (value := fact(build))}
        if len(set(known.values())) > 1:
            listed = ", ".join(f"{label} {value}" for label, value in known.items())
            message = f"engines were built {how} ({listed}): part of the difference is {whose}'s"
            notices.append(Notice(code, message, known))
    return (*notices, *_options(tuple(builds.items())))


def _options(builds: Sequence[tuple[str, BuildReport]]) -> Iterator[Notice]:
    """Yield in which options each engine differs from the first."""
    for label, build in builds[1:]:
        first, base = builds[0]
        sides = [{"precision": one.precision or "default", **one.options} for one in (base, build)]
        differing = {
            key: tuple(side.get(key, "not set") for side in sides)
            for key in sorted(sides[0].keys() | sides[1].keys())
            if sides[0].get(key) != sides[1].get(key)
        }
        if differing:
            listed = "; ".join(f"{key}: {a} and {b}" for key, (a, b) in differing.items())
            yield Notice(
                "I-OTHER-OPTIONS",
                f"{first} and {label} were built with different options: {listed}",
                {"a": first, "b": label, "options": differing},
            )
