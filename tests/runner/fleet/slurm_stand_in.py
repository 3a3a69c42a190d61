"""sbatch, squeue and scancel that run an array's tasks here, at most two at a time.

``$SLURM_STAND_IN`` has what it knows: a folder for each job with its options, the tasks that have
begun and those that have ended. Tasks that its file ``kill`` names (``1_0``) lose their machine.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOME = Path(os.environ["SLURM_STAND_IN"])
KNOWN = {
    *("array", "time", "output", "job-name", "parsable", "wrap", "no-requeue"),
    *("gres", "exclusive", "partition", "cpus-per-task", "mem"),
}


def sbatch(options: dict[str, str]) -> int:
    if (HOME / "refuses").exists():
        print("sbatch: error: invalid partition specified: moon", file=sys.stderr)
        return 1
    assert options.keys() <= KNOWN, options
    job = HOME / str(sum(one.is_dir() for one in HOME.iterdir()) + 1)
    job.mkdir()
    (job / "options.json").write_text(json.dumps(options))
    runner = [sys.executable, __file__, "run", job.name]
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    process = subprocess.Popen(runner, start_new_session=True, **quiet)
    (job / "pid").write_text(str(process.pid))
    print(job.name)
    return 0


def squeue(options: dict[str, str]) -> int:
    assert options["format"] == "%i %N"
    assert {"noheader", "array"} <= options.keys()
    for job in jobs_named(options["name"]):
        for index in range(count_of(job)):
            if not (job / f"{index}.ended").exists():
                node = "here" if (job / f"{index}.begun").exists() else ""
                print(f"{job.name}_{index} {node}")
    return 0


def scancel(options: dict[str, str]) -> int:
    for job in jobs_named(options["name"]):
        os.killpg(int((job / "pid").read_text()), signal.SIGKILL)
        (job / "canceled").touch()
    return 0


def run(job: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda index: run_task(job, index), range(count_of(job))))


def run_task(job: Path, index: int) -> None:
    options = read(job)
    log = Path(options["output"].replace("%A", job.name).replace("%a", str(index)))
    kill = HOME / "kill"
    is_lost = kill.exists() and f"{job.name}_{index}" in kill.read_text().split()
    (job / f"{index}.begun").touch()
    with log.open("wb") as file:
        if is_lost:
            file.write(b"slurmstepd: error: CANCELLED DUE TO NODE FAILURE\n")
        else:
            environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(index)}
            command = ["sh", "-c", options["wrap"]]
            subprocess.run(command, env=environment, stdout=file, stderr=file, check=False)
    (job / f"{index}.ended").touch()


def read(job: Path) -> dict[str, str]:
    return json.loads((job / "options.json").read_text())


def count_of(job: Path) -> int:
    return int(re.fullmatch(r"0-(\d+)(?:%[1-9]\d*)?", read(job)["array"])[1]) + 1


def jobs_named(name: str) -> list[Path]:
    jobs = sorted(one for one in HOME.iterdir() if (one / "options.json").exists())
    return [job for job in jobs if read(job)["job-name"] == name]


def main(program: str, arguments: list[str]) -> int:
    if program == "run":
        run(HOME / arguments[0])
        return 0
    assert all(one.startswith("--") for one in arguments), arguments
    pairs = [one.removeprefix("--").partition("=") for one in arguments]
    options = {key: value for key, _, value in pairs}
    return {"sbatch": sbatch, "squeue": squeue, "scancel": scancel}[program](options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
