"""What of a run's surroundings can change its figures, and what differs between two runs."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.records.run.run import Run
from enginescope.records.verdict.history import FactChange

#: What a change of is the likelier cause, first; what is not here comes after, commits last.
_ORDER = ("model", "engine", "TensorRT", "ONNX Runtime", "driver", "clocks", "governor")
_LAST = ("enginescope", "host", "commit")
_VERSIONS = {"onnxruntime": "ONNX Runtime", "onnxruntime-gpu": "ONNX Runtime"}
_TENSORRT = ("tensorrt", "tensorrt-cu12", "tensorrt-cu13", "tensorrt-lean")
_DIGEST = 12


def facts_of(run: Run) -> dict[str, str]:
    """Return the facts that are known of a run."""
    job, where, build = run.job, run.environment, run.build
    digest = job.subject.sha256
    found: dict[str, str | None] = {
        "model": digest[:_DIGEST] if digest else None,
        "engine": build.engine_sha256[:_DIGEST] if build and build.engine_sha256 else None,
        "TensorRT": _tensorrt(run),
        "governor": where.host.governor,
        "boost": _switch("boost", run),
        "SMT": _switch("smt", run),
        "system": where.host.os,
        "container": where.host.container,
        "cores": str(where.host.cores_usable) if where.host.cores_usable else None,
        "host": where.host.name,
        "commit": where.commit.short if where.commit else None,
        "driver": " + ".join(
            dict.fromkeys(device.driver for device in where.devices if device.driver)
        ),
    }
    for name, version in where.versions.items():
        if name not in _TENSORRT:
            found.setdefault(_VERSIONS.get(name, name), version)
    found |= where.variables
    return {name: value for name, value in found.items() if value}


def fact_changes(before: Run, after: Run) -> tuple[FactChange, ...]:
    """Return the facts in which two runs differ, the likeliest cause first.

    One that a run knows and the other does not counts only where it says that something is set: an
    environment variable, a container.
    """
    old, new = facts_of(before), facts_of(after)
    settable = {*before.environment.variables, *after.environment.variables, "container"}
    names = [
        name
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name) and (name in settable or (name in old and name in new))
    ]
    return tuple(
        FactChange(fact=name, before=old.get(name), after=new.get(name))
        for name in sorted(names, key=_rank)
    )


def changes_at(runs: Sequence[Run], at: int, quiet: Sequence[int]) -> tuple[FactChange, ...]:
    """Return what changed between a run and the one before it; first what changed nowhere else.

    Args:
        runs: The oldest first.
        at: Place of the later run.
        quiet: Places at which the level did not change.
    """
    elsewhere = [
        {change.fact for change in fact_changes(runs[place - 1], runs[place])} for place in quiet
    ]
    found = [
        FactChange(
            fact=change.fact,
            before=change.before,
            after=change.after,
            elsewhere=sum(change.fact in facts for facts in elsewhere),
        )
        for change in fact_changes(runs[at - 1], runs[at])
    ]
    return tuple(sorted(found, key=lambda one: one.elsewhere > 0))  # stable


def _rank(fact: str) -> int:
    if fact in _ORDER:
        return _ORDER.index(fact)
    return len(_ORDER) + (1 + _LAST.index(fact) if fact in _LAST else 0)


def _tensorrt(run: Run) -> str | None:
    if run.build is not None and run.build.tensorrt:
        return run.build.tensorrt
    versions = run.environment.versions
    named = next((versions[name] for name in _TENSORRT if name in versions), None)
    return named or (run.tool.tool_version if run.tool else None)


def _switch(name: str, run: Run) -> str | None:
    value = getattr(run.environment.host, name)
    return None if value is None else "on" if value else "off"
