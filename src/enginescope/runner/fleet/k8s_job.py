"""A cell as a Job of Kubernetes.

All files are on volumes that are mounted where they are here: models, the task, what comes back.
A cell on the processor keeps every other cell off its node, one with a GPU those that want to be
alone.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.cell_task import REMOTE_CELL, longest_s
from enginescope.runner.fleet.docker_fleet import mounts_of
from enginescope.runner.fleet.machines import is_alone, uses_gpu

_APP = "app.kubernetes.io/name"
_NAME = "enginescope-cell"
_ALONE = "enginescope/alone"
_SUITE = "enginescope/suite"
_LONGEST_NAME = 63


class Claim(Record, frozen=True, kw_only=True):
    """A volume, by its claim, and the folder of this machine that it holds."""

    name: str
    folder: str


class Cluster(Record, frozen=True, kw_only=True):
    """What jobs have in common.

    Attributes:
        gpu_label: Of nodes, with ``{gpu}`` for the kind: ``nvidia.com/gpu.product={gpu}``.
    """

    image: str
    claims: tuple[Claim, ...]
    gpu_label: str = "nvidia.com/gpu.product={gpu}"
    namespace: str | None = None


def job_of(cell: Cell, suite: str, task: Path, returned: Path, cluster: Cluster) -> dict[str, Any]:
    """Return the manifest of a cell's Job.

    Args:
        task, returned: Files, here and there.

    Raises:
        UsageError: A file of the cell lies on none of the volumes.
    """
    _check_claims(cell, (task, returned), cluster)
    labels = {
        _APP: _NAME,
        _SUITE: _label(suite),
        _ALONE: "true" if is_alone(cell) else "false",
    }
    meta: dict[str, Any] = {"name": _label(f"es-{suite}-{cell.key}"), "labels": labels}
    if cluster.namespace:
        meta["namespace"] = cluster.namespace
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {
            "backoffLimit": 1,  # a cell that loses its node twice is given up
            "ttlSecondsAfterFinished": 86_400,
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod(cell, task, returned, cluster),
            },
        },
    }


def _pod(cell: Cell, task: Path, returned: Path, cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = {
        "restartPolicy": "Never",
        # of the pod and not of the job, whose time counts from the day it was applied
        "activeDeadlineSeconds": math.ceil(longest_s(cell)),
        "automountServiceAccountToken": False,
        "affinity": _affinity(cell),
        "securityContext": {
            "runAsUser": os.getuid(),
            "runAsGroup": os.getgid(),
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(cell, task, returned, cluster)],
        "volumes": [
            {"name": f"v{number}", "persistentVolumeClaim": {"claimName": one.name}}
            for number, one in enumerate(cluster.claims)
        ],
    }
    if cell.needs.gpu is not None:
        key, _, value = cluster.gpu_label.partition("=")
        found["nodeSelector"] = {key: value.replace("{gpu}", cell.needs.gpu)}
    return found


def _container(cell: Cell, task: Path, returned: Path, cluster: Cluster) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": "cell",
        "image": cluster.image,
        "command": ["python3", "-m", REMOTE_CELL, str(task), str(returned)],
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - the container's own
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": f"v{number}", "mountPath": one.folder}
            for number, one in enumerate(cluster.claims)
        ],
    }
    if uses_gpu(cell):
        made["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    return made


def _affinity(cell: Cell) -> dict[str, Any]:
    """Return which pods of ours a cell keeps off its node."""
    others = {_APP: _NAME} if is_alone(cell) else {_APP: _NAME, _ALONE: "true"}
    term = {"labelSelector": {"matchLabels": others}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _check_claims(cell: Cell, files: Sequence[Path], cluster: Cluster) -> None:
    folders = [*(Path(one.folder) for one in mounts_of(cell)), *(file.parent for file in files)]
    for folder in folders:
        if not any(folder.is_relative_to(claim.folder) for claim in cluster.claims):
            raise UsageError(
                f"{folder} is on no volume",
                why="a job finds its files where they are here",
                hint="--k8s-mount CLAIM:FOLDER, of a folder that is on a volume of the cluster",
            )


def _label(text: str) -> str:
    """Return a text as Kubernetes takes names: the end tells cells apart, so it stays."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return plain if len(plain) <= _LONGEST_NAME else plain[-_LONGEST_NAME:].strip("-")
