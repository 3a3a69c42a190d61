"""Options of ``suite`` that send its cells to other machines, or into a container."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import Parsed
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.runner.fleet.errand import Fleet

F = TypeVar("F", bound=Callable[..., Any])


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"{text!r} is not KEY=VALUE", hint="partition=gpu")
    return key.strip().removeprefix("--").replace("-", "_"), value.strip()


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
)


def fleet_options(function: F) -> F:
    """Add where cells are done."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def fleet_of(options: dict[str, Any], folder: Path) -> Fleet | None:
    """Return the machines that the options ask for; ``None``: this one.

    Parameters
    ----------
    folder : Path
        Of the suite; Slurm's files go there.

    Raises
    ------
    UsageError
        Options that exclude each other.
    MissingDependencyError, UnsupportedError
        What is needed for it is not installed, or does not answer.
    """
    given = {
        "--on-ray": options["on_ray"],
        "--on-slurm": options["on_slurm"],
        "--in-docker": options["in_docker"],
    }
    asked = [name for name, value in given.items() if value]
    if len(asked) > 1:
        raise UsageError(" and ".join(asked), why="a cell is done in one place")
    if options["slurm_options"] and not options["on_slurm"]:
        raise UsageError("--slurm without --on-slurm")
    if asked and options["jobs"] > 1:
        raise UsageError(f"{asked[0]} and --jobs", why="--jobs is of cells on this machine")
    if not asked:
        return None
    return _FLEETS[asked[0]](options, folder)


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

    return SlurmFleet(folder / "slurm", do_errand, dict(options["slurm_options"]))


def _docker(options: dict[str, Any], folder: Path) -> Fleet:
    from enginescope.runner.fleet.docker_fleet import DockerFleet

    del folder
    return DockerFleet(options["in_docker"])


_FLEETS: dict[str, Callable[[dict[str, Any], Path], Fleet]] = {
    "--on-ray": _ray,
    "--on-slurm": _slurm,
    "--in-docker": _docker,
}
