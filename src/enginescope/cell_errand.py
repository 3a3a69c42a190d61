"""Earlier name of `services.suites.remote_cell`, which Kubernetes Jobs written then start."""

import sys

from enginescope.services.suites.remote_cell import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
