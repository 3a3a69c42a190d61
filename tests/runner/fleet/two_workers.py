"""A Ray cluster of a head that does nothing and two workers, in a process of its own.

``python two_workers.py FOLDER PORT`` prints its address, then reads commands: ``add`` starts the
second worker, ``kill`` takes it away as a power cut would, the end of the input ends all. Clients
find it at PORT.
"""

import os
import sys
from pathlib import Path

from ray.cluster_utils import Cluster

#: The head misses a dead worker within seconds: five checks in a row find its port closed. One that
#: is slow has ten seconds to respond to each.
_CHECKS = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 300}


def main(folder: str, port: str) -> None:
    os.environ["RAY_TMPDIR"] = folder
    (Path(folder) / "ray").mkdir()  # where it notes its address
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "include_dashboard": False,
            "ray_client_server_port": int(port),
            "_system_config": _CHECKS,
        },
    )
    cluster.add_node(num_cpus=1, node_name="worker-a")
    second = None
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(second, allow_graceful=False)
        elif line.strip() == "add":
            second = cluster.add_node(num_cpus=1, node_name="worker-b")
            cluster.wait_for_nodes()
        print("done", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
