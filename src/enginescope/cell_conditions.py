"""What cells run on that this Python does: ``python -m enginescope.cell_conditions [CORES]``.

A suite asks its other environments so before it starts anything in them.
"""

from __future__ import annotations

import sys

from enginescope.core.jsonio import encode
from enginescope.runner.suite_resume import conditions_here


def main(arguments: list[str]) -> int:
    """Print versions and hardware as JSON; see `conditions_here`."""
    cores = int(arguments[0]) if arguments else 0
    sys.stdout.buffer.write(encode(conditions_here(cores or None)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
