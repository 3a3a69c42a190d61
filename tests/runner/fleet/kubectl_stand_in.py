"""``kubectl apply -f FILE`` that runs the indexes of Jobs here, and returns when all have ended.

It refuses what the API server refuses of such a Job. Indexes that ``kill`` of
``$KUBECTL_STAND_IN`` names, once for each time, lose their node.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HOME = Path(os.environ["KUBECTL_STAND_IN"])
LABEL = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
VALUE = re.compile(r"(?=.{0,63}$)([A-Za-z0-9]([-\w.]*[A-Za-z0-9])?)?")
LOCK = threading.Lock()


def check(job: dict[str, Any]) -> None:
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert spec["completionMode"] == "Indexed"
    assert 1 <= spec["parallelism"] <= spec["completions"]
    assert LABEL.fullmatch(f"{job['metadata']['name']}-{spec['completions'] - 1}")
    assert pod["restartPolicy"] == "Never"
    labels = [job["metadata"]["labels"], spec["template"]["metadata"]["labels"]]
    assert all(VALUE.fullmatch(value) for some in labels for value in some.values())
    (container,) = pod["containers"]
    volumes = {one["name"] for one in pod["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes


def run_index(job: dict[str, Any], index: int) -> bool:
    """Run an index until it succeeds or has no attempt left."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    program, *arguments = container["command"]
    assert program == "python3"
    mounted = [one["mountPath"] for one in container["volumeMounts"]]
    files = [one for one in arguments if one.startswith("/")]
    assert all(any(Path(file).is_relative_to(one) for one in mounted) for file in files)
    for _ in range(1 + job["spec"]["backoffLimitPerIndex"]):
        if loses_node(index):
            continue
        environment = {**os.environ, "JOB_COMPLETION_INDEX": str(index)}
        ended = subprocess.run([sys.executable, *arguments], env=environment, check=False)
        if ended.returncode == 0:
            return True
    return False


def loses_node(index: int) -> bool:
    kill = HOME / "kill"
    with LOCK:
        left = kill.read_text().split() if kill.exists() else []
        if str(index) not in left:
            return False
        left.remove(str(index))
        kill.write_text(" ".join(left))
        return True


def main(arguments: list[str]) -> int:
    assert arguments[:2] == ["apply", "-f"]
    manifest = json.loads(Path(arguments[2]).read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("v1", "List")
    for job in manifest["items"]:
        check(job)
        with (HOME / "jobs.jsonl").open("a") as file:
            file.write(json.dumps(job) + "\n")
        with ThreadPoolExecutor(min(2, job["spec"]["parallelism"])) as pool:
            indexes = range(job["spec"]["completions"])
            ended = list(pool.map(lambda index, job=job: run_index(job, index), indexes))
        print(f"job.batch/{job['metadata']['name']} created: {sum(ended)} of {len(ended)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
