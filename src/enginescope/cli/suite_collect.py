"""Cells that Kubernetes does: their manifests written, what came of them taken in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.cli.options import note
from enginescope.cli.suite_fleet_sitting import taken
from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.model.suite import Cell, SuitePlan

if TYPE_CHECKING:
    from enginescope.runner.fleet.k8s_job import Cluster
    from enginescope.store.archive import Store
    from enginescope.store.suite_folder import SuiteFolder

#: Folders within a suite's: what goes to a job, and what it leaves.
ERRANDS, RETURNED = "errands", "returned"


def collect(plan: SuitePlan, folder: SuiteFolder, store: Store) -> int:
    """Take what jobs have left into the store and the suite; return how many cells that is.

    A file that cannot be used is named and stays.
    """
    place = folder.path / RETURNED
    known = {one.key for one in plan.cells}
    found = sorted(one for one in place.glob("*") if not one.name.startswith("."))
    count = 0
    for file in found if place.is_dir() else ():
        if file.name not in known:
            note(f"left where it is: {file}: this suite has no such cell now")
            continue
        try:
            folder.keep(taken(file.read_bytes(), plan, store))
        except (FormatError, OSError) as error:
            note(f"left where it is: {file}: {error}")
            continue
        file.unlink()
        (folder.path / ERRANDS / file.name).unlink(missing_ok=True)
        count += 1
    return count


def emit_jobs(
    plan: SuitePlan, todo: Sequence[Cell], folder: SuiteFolder, options: dict[str, Any]
) -> None:
    """Write a Job for every cell that is to be done, and the errand that it reads.

    Raises
    ------
    UsageError
        No image, or a file that is on no volume of the cluster.
    StoreError
        A file cannot be written.
    """
    from enginescope.core.jsonio import write_atomic
    from enginescope.core.yaml_text import yaml_text
    from enginescope.runner.fleet.errand import packed_errand
    from enginescope.runner.fleet.k8s_job import job_of

    cluster, place = _cluster(options), Path(options["emit_k8s"])
    root = folder.path.resolve()
    cells = _runnable(todo)
    if not cells:
        note(f"no jobs written to {place}: no cell is left to be done")
        return
    jobs = [
        job_of(one, plan.suite.name, root / ERRANDS / one.key, root / RETURNED / one.key, cluster)
        for one in cells
    ]
    try:
        for one in (place, root / ERRANDS, root / RETURNED):
            one.mkdir(parents=True, exist_ok=True)
        for cell, job in zip(cells, jobs, strict=True):
            write_atomic(root / ERRANDS / cell.key, packed_errand(cell, plan.command))
            write_atomic(place / f"{cell.key}.yaml", yaml_text(job).encode())
    except OSError as error:
        raise StoreError(f"cannot write {error.filename}", why=error.strerror) from error
    note(f"{len(jobs):,} jobs in {place}: kubectl apply -f {place}")
    note("the same command with --collect in place of --emit-k8s takes in what they leave")


def _runnable(todo: Sequence[Cell]) -> list[Cell]:
    for one in todo:
        if one.refusal is not None:
            note(f"left out: {one.label}: {one.refusal}")
    return [one for one in todo if one.refusal is None]


def _cluster(options: dict[str, Any]) -> Cluster:
    from enginescope.runner.fleet.k8s_job import Claim, Cluster

    claims = tuple(
        Claim(name=name, folder=str(Path(place).resolve())) for name, place in options["k8s_mounts"]
    )
    label = options["k8s_gpu_label"]
    if label.count("=") != 1 or "{gpu}" not in label:
        raise UsageError(f"--k8s-gpu-label {label}", why="not LABEL=VALUE with {gpu} in it")
    return Cluster(
        image=options["k8s_image"],
        claims=claims,
        gpu_label=label,
        namespace=options["k8s_namespace"],
    )
