"""A stand-in for TensorRT's Python bindings, of the version in ``FAKE_TENSORRT``.

Names that the version lacks are taken out at the end, by the recorded lists.
"""

from tensorrt import (
    _builder,
    _callbacks,
    _config,
    _context,
    _engine,
    _inspector,
    _logger,
    _network,
    _parser,
    _plugins,
    _profiles,
    _refitter,
    _runtime,
    _surface,
    _values,
)
from tensorrt._enums import ALL as _ENUMS
from tensorrt._version import FULL as _FULL

__version__ = _FULL

_MODULES = (
    *(_builder, _callbacks, _config, _context, _engine, _inspector, _logger, _network, _parser),
    *(_plugins, _profiles, _refitter, _runtime, _values),
)
globals().update(_surface.kept(_MODULES))
globals().update(_ENUMS)
globals().update(_surface.type_aliases())
