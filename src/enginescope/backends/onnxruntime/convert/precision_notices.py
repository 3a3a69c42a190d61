"""By which way a precision was reached: said on every run that has one."""

from __future__ import annotations

from enginescope.backends.onnxruntime.options import fp16_way
from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import MadeModel, Preparation
from enginescope.records.run.job import Job


def precision_notices(
    job: Job, provider: Provider, found: Preparation | None
) -> tuple[Notice, ...]:
    """Return what was done for the precision, and to the model besides."""
    made = found.made if found else ()
    said = [notice for one in made for notice in (_made(one), *one.notices)]
    precision = job.backend.precision or ""
    if fp16_way(job.backend, provider) == "switch":
        options = " ".join(f"{k}={v}" for k, v in provider.switches[precision].items())
        said.append(
            Notice(
                "I-PRECISION",
                f"{precision}: by {provider.name}'s own switch ({options}); the model is as it was",
                {"way": "switch", "options": dict(provider.switches[precision])},
            )
        )
    notices = (*said, *(found.notices if found else ()))
    return tuple(notices)


def _made(made: MadeModel) -> Notice:
    evidence = {
        "tool": made.tool,
        "versions": made.versions,
        "options": made.options,
        "details": made.details,
        "key": made.key,
    }
    versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    if made.kind == "shapes":
        message = f"the shapes in the model were inferred by {made.tool} ({versions})"
        return Notice("I-SHAPES", message, evidence)
    ends = made.options.get("keep_io_types", "1")
    kept = "inputs and outputs stay FP32" if ends == "1" else "inputs and outputs FP16 too"
    staying = made.details.get("nodes_in_fp32")
    of = f", {staying:,} of {made.details['nodes']:,} nodes in FP32" if staying else ""
    return Notice(
        "I-PRECISION",
        f"fp16: the model was converted by {made.tool} ({versions}); {kept}{of}",
        {"way": "autocast" if made.kind == "autocast" else "converter", **evidence},
    )
