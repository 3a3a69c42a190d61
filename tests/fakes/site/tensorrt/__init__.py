"""A stand-in for TensorRT's Python bindings, of the version in ``FAKE_TENSORRT``.

Names that the version lacks are taken out at the end, by the recorded lists.
"""

from tensorrt import _base, _builder, _callbacks, _config, _context, _engine, _network, _runtime

__version__ = _base.FULL
_MODULES = (_base, _builder, _callbacks, _config, _context, _engine, _network, _runtime)
globals().update(_base.kept(_MODULES), **_base.ALL)
