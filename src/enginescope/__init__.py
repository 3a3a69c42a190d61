"""enginescope measures, explains, compares and checks inference engines.

>>> import enginescope as es
>>> run = es.bench("model.onnx")          # doctest: +SKIP
>>> run.latency.median_ms                 # doctest: +SKIP
4.218
"""

from enginescope._version import __version__

__all__ = ["__version__"]
