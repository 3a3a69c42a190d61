"""Which TensorRT this is: ``FAKE_TENSORRT``, read on import."""

import os

import recorded_symbols

NAME = os.environ.get("FAKE_TENSORRT", "10.16.1")
if NAME not in recorded_symbols.VERSIONS:
    raise ImportError(f"FAKE_TENSORRT={NAME}: {', '.join(recorded_symbols.VERSIONS)}")
#: As ``__version__`` of the real bindings.
FULL = {
    "8.6.0": "8.6.0",
    "10.16.1": "10.16.1.11",
    "11.4.0": "11.4.0.106",
    "rtx-1.7.1": "1.7.1.116",
}[NAME]
NUMBERS = tuple(int(one) for one in FULL.split("."))
IS_RTX = NAME.startswith("rtx")
#: TensorRT for RTX has the API of TensorRT 11.
MAJOR = 11 if IS_RTX else NUMBERS[0]
#: What a plan is stamped with, and what a runtime reads; only the first is the real number.
SERIALIZATION = {8: 236, 10: 241, 11: 244}[MAJOR]
SURFACE = recorded_symbols.surface(NAME)
