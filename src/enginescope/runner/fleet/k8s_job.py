"""Cells as an Indexed Job of Kubernetes: one for all that ask for the same.

All files are on volumes that are mounted where they are here: models, tasks, what comes back.
A cell on the processor keeps every other cell off its node, one with a GPU those that want to be
alone.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.cell_array import CellArray
from enginescope.runner.fleet.docker_fleet import mounts_of
from enginescope.runner.fleet.k8s_names import (
    LABEL_KEY,
    LABEL_VALUE,
    NAME,
    NAMESPACE,
    QUANTITY,
    check,
    name_of,
    toleration_of,
)
from enginescope.runner.fleet.machines import is_alone, uses_gpu

_APP = "app.kubernetes.io/name"
_APP_NAME = "enginescope-cell"
_ALONE = "enginescope/alone"
_SUITE = "enginescope/suite"
_GPU = "nvidia.com/gpu"


class Cluster(Record, frozen=True, kw_only=True):
    """What Jobs have in common; `KubernetesJobs` describes the fields."""

    image: str
    mounts: tuple[tuple[str, str], ...] = ()
    gpu_label: str = "nvidia.com/gpu.product={gpu}"
    namespace: str | None = None
    jobs: int | None = None
    requests: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    limits: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    node_selector: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    tolerations: tuple[str, ...] = ()
    pull_secrets: tuple[str, ...] = ()


def job_of(array: CellArray, suite: str, cluster: Cluster) -> dict[str, Any]:
    """Return the manifest of an array's Job.

    Raises:
        UsageError: A file of a cell lies on none of the volumes, or Kubernetes takes no such name.
    """
    _check_names(cluster)
    first, count = array.cells[0], len(array.cells)
    for cell in array.cells:
        _check_mounts(cell, array.folder, cluster)
    labels = {
        _APP: _APP_NAME,
        _SUITE: name_of(suite),
        _ALONE: "true" if is_alone(first) else "false",
    }
    meta: dict[str, Any] = {"name": name_of(f"es-{suite}-{array.name}"), "labels": labels}
    if cluster.namespace is not None:
        meta["namespace"] = cluster.namespace
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": min(count, cluster.jobs or count),
            "backoffLimitPerIndex": 1,  # a cell that loses its node twice is given up
            "ttlSecondsAfterFinished": 86_400,
            "template": {"metadata": {"labels": labels}, "spec": _pod(array, cluster)},
        },
    }


def _pod(array: CellArray, cluster: Cluster) -> dict[str, Any]:
    first = array.cells[0]
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        # of the pod and not of the job, whose time counts from the day it was applied
        "activeDeadlineSeconds": math.ceil(array.limit_s),
        "automountServiceAccountToken": False,
        "affinity": _affinity(first),
        "securityContext": {
            "runAsUser": os.getuid(),
            "runAsGroup": os.getgid(),
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(array, cluster)],
        "volumes": [
            {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}}
            for number, (claim, _) in enumerate(cluster.mounts)
        ],
    }
    selector = dict(cluster.node_selector)
    if first.needs.gpu is not None:
        key, _, value = cluster.gpu_label.partition("=")
        selector[key] = value.replace("{gpu}", first.needs.gpu)
        check("gpu", selector[key], LABEL_VALUE)
    if selector:
        pod["nodeSelector"] = selector
    if cluster.tolerations:
        pod["tolerations"] = [toleration_of(text) for text in cluster.tolerations]
    if cluster.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in cluster.pull_secrets]
    return pod


def _container(array: CellArray, cluster: Cluster) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "cell",
        "image": cluster.image,
        "command": ["python3", *array.arguments()],
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - the container's own
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": f"v{number}", "mountPath": folder}
            for number, (_, folder) in enumerate(cluster.mounts)
        ],
    }
    gpu = {_GPU: "1"} if uses_gpu(array.cells[0]) else {}
    resources = {"requests": {**gpu, **cluster.requests}, "limits": {**gpu, **cluster.limits}}
    if any(resources.values()):
        container["resources"] = {name: part for name, part in resources.items() if part}
    return container


def _affinity(cell: Cell) -> dict[str, Any]:
    """Return which pods of ours a cell keeps off its node."""
    others = {_APP: _APP_NAME} if is_alone(cell) else {_APP: _APP_NAME, _ALONE: "true"}
    term = {"labelSelector": {"matchLabels": others}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _check_mounts(cell: Cell, suite: Path, cluster: Cluster) -> None:
    """Raise for a folder of which a pod has nothing; without the one of engines it has its own."""
    read = [Path(mount.folder) for mount in mounts_of(cell) if not mount.is_writable]
    for folder in (suite, *read):
        if not any(folder.is_relative_to(mounted) for _, mounted in cluster.mounts):
            raise UsageError(
                f"{folder} is on no volume",
                why="a job finds its files where they are here",
                hint="mount CLAIM:FOLDER, of a folder that is on a volume of the cluster"
                + (", and write the suite there: -o FOLDER" if folder == suite else ""),
            )


def _check_names(cluster: Cluster) -> None:
    if cluster.namespace is not None:
        check("namespace", cluster.namespace, NAMESPACE)
    folders = [folder for _, folder in cluster.mounts]
    for claim, folder in cluster.mounts:
        check("volume claim", claim, NAME)
        if ":" in folder or folders.count(folder) > 1:
            why = "it has a colon" if ":" in folder else "two volumes would be there"
            raise UsageError(f"a pod cannot mount {folder}", why=why)
    for secret in cluster.pull_secrets:
        check("pull secret", secret, NAME)
    _check_pairs("resource", {**cluster.requests, **cluster.limits}, QUANTITY)
    _check_pairs("node selector", cluster.node_selector, LABEL_VALUE)
    key, equals, value = cluster.gpu_label.partition("=")
    if not equals or "{gpu}" not in value:
        why = "not LABEL=VALUE with {gpu} in it"
        raise UsageError(f"GPU label {cluster.gpu_label}", why=why)
    check("GPU label", key, LABEL_KEY)


def _check_pairs(what: str, pairs: Mapping[str, str], rule: re.Pattern[str]) -> None:
    for key, value in pairs.items():
        check(what, key, LABEL_KEY)
        check(f"{what} {key}", value, rule)
