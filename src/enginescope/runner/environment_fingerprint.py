"""Versions and hardware of this Python, and how another Python process of ours is started."""

import sys
from pathlib import Path

import msgspec

from enginescope.probe.environment import probe_environment, versions


def environment_fingerprint(cores: int | None = None) -> dict[str, str]:
    """Return versions and hardware of this machine; another value makes other figures.

    Args:
        cores: Logical processors of each cell; ``None``: all.
    """
    environment = probe_environment()
    fingerprint = dict(versions())
    if environment.host.cpu_model:
        fingerprint["cpu"] = environment.host.cpu_model
    for number, device in enumerate(environment.devices):
        fingerprint[f"gpu{number}"] = f"{device.name}, driver {device.driver}"
    if cores is not None:
        fingerprint["cores"] = str(cores)
    return fingerprint


def main(arguments: list[str]) -> int:
    """Print the fingerprint as JSON on a line of its own, for the Python that started this one."""
    cores = int(arguments[0]) if arguments else 0
    line = msgspec.json.encode(environment_fingerprint(cores or None))
    sys.stdout.flush()  # output of start-up files stays outside the line
    sys.stdout.buffer.write(b"\n" + line + b"\n")
    return 0


def interpreter() -> list[str]:
    """Return how to start an interpreter that finds the modules this one finds.

    ``-m`` would put the working directory first, where an ``onnxruntime`` folder or a script called
    ``onnx.py`` hides the installed package. Python 3.10 has no switch against it.
    """
    from_here = not {"", str(Path.cwd())}.isdisjoint(sys.path)
    return [sys.executable, *([] if from_here or sys.version_info < (3, 11) else ["-P"])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
