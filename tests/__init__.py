"""The tests. BLAS gets one thread before any test imports NumPy: more spin after each call."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
