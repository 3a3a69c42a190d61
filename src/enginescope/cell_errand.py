"""``python -m enginescope.cell_errand``: the name by which machines and containers run a cell."""

import sys

from enginescope.services.suites.remote_cell import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
