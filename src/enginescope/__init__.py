"""enginescope measures, explains, compares and checks inference engines.

>>> import enginescope as es
>>> run = es.bench("model.onnx")          # doctest: +SKIP
>>> run.latency.median_ms                 # doctest: +SKIP
4.218

`__all__` is the public API. Its names are imported when they are first used, so that
``import enginescope`` itself is cheap.
"""

from enginescope._lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
