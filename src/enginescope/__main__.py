"""``python -m enginescope``."""

import sys

from enginescope.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
