"""Fleets: machines that run cells in place of this process."""

from __future__ import annotations

import shutil
from pathlib import Path

from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.optional import is_installed, require
from enginescope.runner.fleet.cell_task import Fleet
from enginescope.services.suites.request import DockerImage, RayCluster, SlurmCluster


def fleet_for(place: RayCluster | SlurmCluster | DockerImage, folder: Path) -> Fleet:
    """Return the fleet of a place.

    Args:
        folder: Folder of the suite, for Slurm's files.

    Raises:
        MissingDependencyError: Its package is not installed.
        UnsupportedError: Its commands are not on this machine.
    """
    if isinstance(place, DockerImage):
        from enginescope.runner.fleet.docker_fleet import DockerFleet

        return DockerFleet(place.image)
    from enginescope.services.suites.remote_cell import run_remote_cell

    if isinstance(place, RayCluster):
        from enginescope.runner.fleet.ray_fleet import RayFleet

        if not is_installed("ray"):  # it is imported when its environment variables are set
            require("ray", purpose="--on-ray", install="enginescope[ray]")
        return RayFleet(place.address, run_remote_cell)
    from enginescope.runner.fleet.slurm_fleet import SlurmFleet

    if place.cluster not in ("slurm", "local"):
        raise UsageError(f"--slurm cluster={place.cluster}", hint="slurm, or local to try it here")
    if place.cluster == "slurm" and shutil.which("sbatch") is None:
        raise UnsupportedError(
            "Slurm is not on this machine",
            why="there is no sbatch on PATH",
            hint="a login node of the cluster has it; --slurm cluster=local tries it here",
        )
    return SlurmFleet(folder / "slurm", run_remote_cell, place.options, place.cluster)
