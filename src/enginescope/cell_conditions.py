"""``python -m enginescope.cell_conditions``: the name by which a suite asks another Python."""

import sys

from enginescope.runner.environment_fingerprint import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
