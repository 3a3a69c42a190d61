"""A verb is a program `enginescope-NAME` on the PATH, in any language; built-in verbs win.

`enginescope NAME` runs it with the arguments that follow. `ENGINESCOPE_HOME` names the store, and
`enginescope` is on its PATH. This verb lists the slowest runs, from the JSON of `runs`.
"""

import argparse
import json
import subprocess


def main() -> None:
    parser = argparse.ArgumentParser(prog="enginescope slowest", description="List slow runs.")
    parser.add_argument("--most", type=int, default=3)
    most = parser.parse_args().most
    listed = subprocess.run(("enginescope", "runs", "--json"), stdout=subprocess.PIPE, check=True)
    runs = [run for run in json.loads(listed.stdout) if run["median_ms"]]
    for run in sorted(runs, key=lambda run: -run["median_ms"])[:most]:
        print(f"{run['median_ms']:.3f} ms  {run['model']}  {run['backend']}  {run['id']}")
