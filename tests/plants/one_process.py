"""``python -m tests.plants.one_process VERB …``: enginescope with its workers in its own process.

For commands that would start dozens of processes, where processes are not what is tested. Nothing
is warmed up, for the same reason.
"""

import gc
import sys

from enginescope.cli.main import main
from tests.plants.in_process import without_warm_up, workers_in_process

if __name__ == "__main__":
    gc.freeze()  # else each measurement collects all modules anew
    with workers_in_process(), without_warm_up():
        sys.exit(main())
