"""What cells run on that this Python does: ``python -m enginescope.cell_conditions [CORES]``.

A suite asks its other environments so before it starts anything in them.
"""

from __future__ import annotations

import sys

import msgspec

from enginescope.runner.suite_resume import conditions_here


def main(arguments: list[str]) -> int:
    """Print versions and hardware as JSON, on a line of its own; see `conditions_here`."""
    cores = int(arguments[0]) if arguments else 0
    said = msgspec.json.encode(conditions_here(cores or None))
    sys.stdout.flush()  # what start-up files have printed stays outside the line
    sys.stdout.buffer.write(b"\n" + said + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
