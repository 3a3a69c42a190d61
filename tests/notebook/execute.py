"""Runs the notebooks and keeps their outputs: ``python -m tests.notebook.execute [NAME…]``."""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "notebooks"
#: Where the kernel's own code may not get a connection from; run before the first cell.
NO_NETWORK = """
import socket as _socket

def _refused(*_):
    raise OSError("no network here")

_socket.create_connection = _socket.getaddrinfo = _socket.socket.connect = _refused
"""
#: Run before the first cell of a notebook that measures in dozens of processes.
IN_ONE_PROCESS = f"""
import sys as _sys

_sys.path.append({str(Path(__file__).parents[2])!r})
from tests.plants.in_process import workers_in_process as _workers_in_process

_patched = _workers_in_process()
_patched.__enter__()
"""
LIMIT_S = 300
#: Measurements for a test: an expression -> a short one of the same outputs.
_SHORT = {
    r"Workload\(stop=StopRule\(duration_ms=\d+\)\)": (
        "es.Workload(warmup=es.WarmUp(time_ms=5), stop=StopRule(duration_ms=20))"
    ),
    r"ROUNDS = \d+": "ROUNDS = 3",
    r"es\.bench\((SAMPLES.*)\)": (
        r"es.bench(\1, workload=es.Workload(stop=es.StopRule(max_time_ms=100)))"
    ),
}


def executed(path: Path, package: Path | None = None) -> Any:
    """Run a notebook in a folder of its own, in a kernel that talks through files.

    Args:
        package: Folder that ``enginescope`` is imported from, for measurements of milliseconds; by
            default what is installed.
    """
    import nbclient
    import nbformat
    from traitlets.config import Config

    document = nbformat.read(path, as_version=4)
    for cell in document.cells if package else ():
        for words, shorter in _SHORT.items():
            cell.source = re.sub(words, shorter, cell.source)
    has_many = package and any("ROUNDS" in cell.source for cell in document.cells)
    before = NO_NETWORK + (IN_ONE_PROCESS if has_many else "")
    document.cells.insert(0, nbformat.v4.new_code_cell(before))
    # a short name, for it holds sockets
    with tempfile.TemporaryDirectory() as place:
        client = nbclient.NotebookClient(
            document,
            timeout=LIMIT_S,
            startup_timeout=60,
            kernel_name="python3",
            resources={"metadata": {"path": place}},
            config=Config(KernelManager={"transport": "ipc", "ip": f"{place}/kernel"}),
        )
        client.create_kernel_manager()
        # the Python of these tests, whatever kernels are registered beside it
        spec = client.km.kernel_spec
        spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec.env = {"ENGINESCOPE_HOME": f"{place}/store"}
        if package is not None:
            spec.env["PYTHONPATH"] = str(package)
        client.execute()
    document.cells.pop(0)
    return document


def keep(path: Path) -> None:
    """Run a notebook and write it with its outputs, and with nothing of how it was run."""
    import nbformat

    document = executed(path)
    for number, cell in enumerate(
        (cell for cell in document.cells if cell.cell_type == "code"), start=1
    ):
        cell.metadata.clear()
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    document.metadata.language_info = {"name": "python"}
    nbformat.write(document, path)


def main() -> None:
    """Run those that are named, else all."""
    os.chdir(FOLDER)
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            print(path.name)
            keep(path)


if __name__ == "__main__":
    main()
