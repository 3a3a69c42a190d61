"""Cells that Kubernetes runs: write their manifests, and store the results that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.core.yaml_text import yaml_text
from enginescope.records.suite.suite import Cell, SuitePlan
from enginescope.runner.fleet.cell_task import packed_errand, unpacked_returned
from enginescope.runner.fleet.k8s_job import Claim, Cluster, job_of
from enginescope.services.suites.fleet_session import store_returned
from enginescope.services.suites.observer import SuiteObserver
from enginescope.services.suites.request import KubernetesJobs
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder

#: Folders in a suite's folder: tasks that jobs read, and results that they leave.
TASKS, RESULTS = "errands", "returned"


def collect_results(
    plan: SuitePlan, folder: SuiteFolder, store: Store, observer: SuiteObserver
) -> int:
    """Store the results that jobs have left; return their count.

    The observer gets a warning for each file that cannot be used; the file stays.
    """
    place = folder.path / RESULTS
    known = {cell.key for cell in plan.cells}
    count = 0
    for file in sorted(place.glob("[!.]*")):
        if file.name not in known:
            observer.warn(f"left where it is: {file}: this suite has no such cell now")
            continue
        try:
            folder.keep(store_returned(unpacked_returned(file.read_bytes()), plan, store))
        except (FormatError, OSError) as error:
            observer.warn(f"left where it is: {file}: {error}")
            continue
        file.unlink()
        (folder.path / TASKS / file.name).unlink(missing_ok=True)
        count += 1
    return count


def write_jobs(
    plan: SuitePlan,
    todo: Sequence[Cell],
    folder: SuiteFolder,
    place: KubernetesJobs,
    observer: SuiteObserver,
) -> None:
    """Write a Job for every cell to run, and the task that it reads.

    Raises:
        UsageError: The label of GPUs has another form, or a file is on no volume of the cluster.
        StoreError: A file cannot be written.
    """
    if place.gpu_label.count("=") != 1 or "{gpu}" not in place.gpu_label:
        raise UsageError(
            f"--k8s-gpu-label {place.gpu_label}", why="not LABEL=VALUE with {gpu} in it"
        )
    cluster = Cluster(
        image=place.image,
        claims=tuple(
            Claim(name=name, folder=str(Path(mount).resolve())) for name, mount in place.mounts
        ),
        gpu_label=place.gpu_label,
        namespace=place.namespace,
    )
    for cell in todo:
        if cell.refusal is not None:
            observer.warn(f"left out: {cell.label}: {cell.refusal}")
    cells = [cell for cell in todo if cell.refusal is None]
    root = folder.path.resolve()
    jobs = [
        job_of(cell, plan.suite.name, root / TASKS / cell.key, root / RESULTS / cell.key, cluster)
        for cell in cells
    ]
    try:
        for needed in (place.folder, root / TASKS, root / RESULTS) if cells else ():
            needed.mkdir(parents=True, exist_ok=True)
        for cell, job in zip(cells, jobs, strict=True):
            write_atomic(root / TASKS / cell.key, packed_errand(cell, plan.command))
            write_atomic(place.folder / f"{cell.key}.yaml", yaml_text(job).encode())
    except OSError as error:
        raise StoreError(f"cannot write {error.filename}", why=error.strerror) from error
    observer.jobs_written(len(jobs), place.folder)
