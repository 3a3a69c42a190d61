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

_CLASSES = (
    _builder.Builder,
    _callbacks.IInt8EntropyCalibrator2,
    _callbacks.IOutputAllocator,
    _callbacks.IProfiler,
    _callbacks.IProgressMonitor,
    _callbacks.Profiler,
    _config.IBuilderConfig,
    _config.ITimingCache,
    _context.IExecutionContext,
    _engine.ICudaEngine,
    _inspector.EngineInspector,
    _logger.ILogger,
    _logger.Logger,
    _network.ILayer,
    _network.INetworkDefinition,
    _network.ITensor,
    _parser.OnnxParser,
    _parser.ParserError,
    _plugins.IPluginRegistry,
    _profiles.IOptimizationProfile,
    _refitter.OnnxParserRefitter,
    _refitter.Refitter,
    _runtime.Runtime,
    _values.Dims,
    _values.IHostMemory,
    _values.Weights,
)
_FUNCTIONS = (
    _parser.get_nv_onnx_parser_version,
    _plugins.get_plugin_registry,
    _plugins.init_libnvinfer_plugins,
    _values.nptype,
    _values.volume,
)
globals().update(_surface.kept(_CLASSES, _FUNCTIONS))
globals().update(_ENUMS)
globals().update(_surface.type_aliases())
