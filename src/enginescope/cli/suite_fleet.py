"""Options of ``suite`` that send its cells to other machines, or into a container."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import Parsed
from enginescope.core.errors import UnsupportedError, UsageError

if TYPE_CHECKING:
    from enginescope.runner.fleet.errand import Fleet

F = TypeVar("F", bound=Callable[..., Any])


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"{text!r} is not KEY=VALUE", hint="partition=gpu")
    return key.strip().removeprefix("--").replace("-", "_"), value.strip()


def _mount(text: str) -> tuple[str, str]:
    claim, colon, folder = text.partition(":")
    if not colon or not claim or not folder.startswith("/"):
        raise UsageError(f"{text!r} is not CLAIM:FOLDER", hint="models:/mnt/models")
    return claim, folder


_OPTIONS = (
    click.option(
        "--on-ray",
        metavar="ADDRESS",
        help="Cells on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; local: one started here.",
    ),
    click.option("--on-slurm", is_flag=True, help="Cells as jobs of a Slurm cluster."),
    click.option(
        "--slurm",
        "slurm_options",
        type=Parsed("KEY=VALUE", _pair),
        multiple=True,
        help="Of sbatch, as partition=gpu; repeat for more.",
    ),
    click.option("--in-docker", metavar="IMAGE", help="Each cell in a container of its own."),
    click.option(
        "--emit-k8s",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Write a Job of Kubernetes for each cell, and run none.",
    ),
    click.option("--k8s-image", metavar="IMAGE", help="Of the jobs."),
    click.option(
        "--k8s-mount",
        "k8s_mounts",
        type=Parsed("CLAIM:FOLDER", _mount),
        multiple=True,
        help="Volume that holds FOLDER, there as here; repeat for more.",
    ),
    click.option(
        "--k8s-gpu-label",
        default="nvidia.com/gpu.product={gpu}",
        show_default=True,
        help="Label of nodes by their kind of GPU.",
    ),
    click.option("--k8s-namespace", help="Of the jobs.  [default: none is named]"),
    click.option("--collect", is_flag=True, help="Take in what jobs have left, and run none."),
)


def fleet_options(function: F) -> F:
    """Add where cells are done."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def is_elsewhere(options: dict[str, Any]) -> bool:
    """Whether the options ask for another place than this process.

    Raises
    ------
    UsageError
        Options that exclude each other, or that say nothing without another one.
    """
    asked = [name for name, key in _PLACES.items() if options[key]]
    if len(asked) > 1:
        raise UsageError(" and ".join(asked), why="a cell is done in one place")
    for name, (key, of) in _PARTS.items():
        if options[key] and not options[_PLACES[of]]:
            raise UsageError(f"{name} without {of}")
    if options["emit_k8s"] and not options["k8s_image"]:
        raise UsageError("--emit-k8s without --k8s-image", hint="an image with enginescope in it")
    if asked and options["jobs"] > 1:
        raise UsageError(f"{asked[0]} and --jobs", why="--jobs is of cells on this machine")
    return bool(asked)


def fleet_of(options: dict[str, Any], folder: Path) -> Fleet | None:
    """Return the machines that the options ask for; ``None``: they are for Kubernetes.

    Parameters
    ----------
    folder : Path
        Of the suite; Slurm's files go there.

    Raises
    ------
    MissingDependencyError, UnsupportedError
        What is needed for it is not installed, or does not answer.
    """
    for key, make in _FLEETS.items():
        if options[key]:
            return make(options, folder)
    return None


def _ray(options: dict[str, Any], folder: Path) -> Fleet:
    from enginescope.cell_errand import do_errand
    from enginescope.core.optional import is_installed, require
    from enginescope.runner.fleet.ray_fleet import RayFleet

    del folder
    if not is_installed("ray"):  # imported when its environment is settled, and not before
        require("ray", purpose="--on-ray", install="enginescope[ray]")
    return RayFleet(options["on_ray"], do_errand)


def _slurm(options: dict[str, Any], folder: Path) -> Fleet:
    from enginescope.cell_errand import do_errand
    from enginescope.runner.fleet.slurm_fleet import SlurmFleet

    more = dict(options["slurm_options"])
    cluster = more.pop("cluster", "slurm")
    if cluster not in ("slurm", "local"):
        raise UsageError(f"--slurm cluster={cluster}", hint="slurm, or local to try it here")
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise UnsupportedError(
            "Slurm is not on this machine",
            why="there is no sbatch on PATH",
            hint="a login node of the cluster has it; --slurm cluster=local tries it here",
        )
    return SlurmFleet(folder / "slurm", do_errand, more, cluster)


def _docker(options: dict[str, Any], folder: Path) -> Fleet:
    from enginescope.runner.fleet.docker_fleet import DockerFleet

    del folder
    return DockerFleet(options["in_docker"])


_FLEETS: dict[str, Callable[[dict[str, Any], Path], Fleet]] = {
    "on_ray": _ray,
    "on_slurm": _slurm,
    "in_docker": _docker,
}
#: Option -> its key, of those that exclude each other.
_PLACES = {
    "--on-ray": "on_ray",
    "--on-slurm": "on_slurm",
    "--in-docker": "in_docker",
    "--emit-k8s": "emit_k8s",
    "--collect": "collect",
}
#: Option -> its key, and the option that it is a part of.
_PARTS = {
    "--slurm": ("slurm_options", "--on-slurm"),
    "--k8s-image": ("k8s_image", "--emit-k8s"),
    "--k8s-mount": ("k8s_mounts", "--emit-k8s"),
    "--k8s-namespace": ("k8s_namespace", "--emit-k8s"),
}
