"""Options of ``suite`` that run its cells on other machines, or in containers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import Parsed, add_options, option
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.services.suites.request import Place

F = TypeVar("F", bound=Callable[..., Any])


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"{text!r} is not KEY=VALUE")
    return key.strip().removeprefix("--"), value.strip()


def _mount(text: str) -> tuple[str, str]:
    claim, colon, folder = text.partition(":")
    if not colon or not claim or not folder.startswith("/"):
        raise UsageError(f"{text!r} is not CLAIM:FOLDER", hint="models:/mnt/models")
    return claim, folder


def _pairs(flag: str, name: str, text: str) -> Callable[[F], F]:
    """Return an option that is repeated, each a key and a value."""
    return option(flag, name, type=Parsed("KEY=VALUE", _pair), multiple=True, help=text)


#: Add the options of places where cells run.
fleet_options = add_options(
    option(
        "--on-ray",
        metavar="ADDRESS",
        help=(
            "Run cells on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; local "
            "starts a cluster here."
        ),
    ),
    option("--on-slurm", is_flag=True, help="Run cells as array jobs of a Slurm cluster."),
    _pairs(
        "--slurm",
        "slurm_options",
        "Pass an option to sbatch, such as partition=gpu; repeat for more.",
    ),
    option(
        "--in-docker", metavar="IMAGE", help="Run each cell in a fresh container of this image."
    ),
    option(
        "--emit-k8s",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Write an Indexed Kubernetes Job of the cells to this folder, and run nothing.",
    ),
    option("--k8s-image", metavar="IMAGE", help="Container image of the Kubernetes jobs."),
    option(
        "--k8s-mount",
        "k8s_mounts",
        type=Parsed("CLAIM:FOLDER", _mount),
        multiple=True,
        help="Mount the volume of CLAIM at FOLDER, the same path as here; repeat for more.",
    ),
    option(
        "--k8s-gpu-label",
        default="nvidia.com/gpu.product={gpu}",
        help="Node label that selects the GPU model.",
    ),
    option("--k8s-namespace", help="Namespace of the Kubernetes jobs.  [default: unset]"),
    _pairs(
        "--k8s-request",
        "k8s_requests",
        "Request this much of a resource per cell, such as cpu=8; repeat for more.",
    ),
    _pairs(
        "--k8s-limit",
        "k8s_limits",
        "Limit a resource of each cell, such as memory=32Gi; repeat for more.",
    ),
    _pairs("--k8s-node", "k8s_nodes", "Run cells only on nodes with this label; repeat for more."),
    option(
        "--k8s-toleration",
        "k8s_tolerations",
        metavar="TAINT",
        multiple=True,
        help="Accept nodes with this taint, as KEY[=VALUE][:EFFECT]; repeat for more.",
    ),
    option(
        "--k8s-pull-secret",
        "k8s_pull_secrets",
        metavar="NAME",
        multiple=True,
        help="Secret to pull the image with; repeat for more.",
    ),
    option(
        "--collect", is_flag=True, help="Collect the results of finished jobs, and run nothing."
    ),
)


def place_of(options: dict[str, Any]) -> Place:
    """Return where the options run cells.

    Raises:
        UsageError: Options exclude each other, or belong to an option that is missing.
    """
    from enginescope.services.suites import request as place

    flags = [flag for flag, key in _PLACES.items() if options[key]]
    if len(flags) > 1:
        raise UsageError(" and ".join(flags), why="cells run in one place")
    for flag, (key, of) in _PARTS.items():
        if options[key] and not options[_PLACES[of]]:
            raise UsageError(f"{flag} without {of}")
    if options["emit_k8s"] and not options["k8s_image"]:
        raise UsageError("--emit-k8s without --k8s-image", hint="an image with enginescope in it")
    jobs = options["jobs"]
    if jobs and flags and flags[0] not in _WITH_JOBS:
        why = f"--jobs is of cells on this machine, {' and '.join(_WITH_JOBS)}"
        raise UsageError(f"{flags[0]} and --jobs", why=why)
    if options["on_ray"]:
        return place.RayCluster(address=options["on_ray"])
    if options["on_slurm"]:
        more = dict(options["slurm_options"])
        return place.SlurmCluster(cluster=more.pop("cluster", "slurm"), options=more, jobs=jobs)
    if options["in_docker"]:
        return place.DockerImage(image=options["in_docker"])
    if options["emit_k8s"]:
        return place.KubernetesJobs(
            folder=Path(options["emit_k8s"]),
            image=options["k8s_image"],
            mounts=options["k8s_mounts"],
            gpu_label=options["k8s_gpu_label"],
            namespace=options["k8s_namespace"],
            jobs=jobs,
            requests=dict(options["k8s_requests"]),
            limits=dict(options["k8s_limits"]),
            node_selector=dict(options["k8s_nodes"]),
            tolerations=options["k8s_tolerations"],
            pull_secrets=options["k8s_pull_secrets"],
        )
    return place.FinishedJobs() if options["collect"] else place.ThisMachine(jobs=jobs or 1)


#: Flags that exclude each other, and their keys.
_PLACES = {
    "--on-ray": "on_ray",
    "--on-slurm": "on_slurm",
    "--in-docker": "in_docker",
    "--emit-k8s": "emit_k8s",
    "--collect": "collect",
}
#: Places for which ``--jobs`` has a meaning too.
_WITH_JOBS = ("--on-slurm", "--emit-k8s")
#: Flag, its key, and the flag that it needs.
_PARTS = {
    "--slurm": ("slurm_options", "--on-slurm"),
    "--k8s-image": ("k8s_image", "--emit-k8s"),
    "--k8s-mount": ("k8s_mounts", "--emit-k8s"),
    "--k8s-namespace": ("k8s_namespace", "--emit-k8s"),
    "--k8s-request": ("k8s_requests", "--emit-k8s"),
    "--k8s-limit": ("k8s_limits", "--emit-k8s"),
    "--k8s-node": ("k8s_nodes", "--emit-k8s"),
    "--k8s-toleration": ("k8s_tolerations", "--emit-k8s"),
    "--k8s-pull-secret": ("k8s_pull_secrets", "--emit-k8s"),
}
