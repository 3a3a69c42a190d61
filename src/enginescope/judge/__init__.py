"""Statistics, rounds and verdicts, with NumPy and the standard library alone.

>>> from enginescope import judge
>>> print(judge.compare(old, new))        # doctest: +SKIP

Names are imported when they are first used: the base of enginescope stands on this package.
"""

from enginescope._lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
