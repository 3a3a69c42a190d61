"""Earlier name of `runner.environment_fingerprint`, which an older enginescope starts here."""

import sys

from enginescope.runner.environment_fingerprint import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
