"""The registry of plugins: it loads any library that exists."""

from pathlib import Path
from typing import Any

from tensorrt._bound import Made, need
from tensorrt._logger import ILogger


class IPluginRegistry(Made):
    def __init__(self) -> None:
        self._libraries: list[str] = []

    def load_library(self, plugin_path: str) -> object | None:
        need("load_library", (plugin_path, str))
        if not Path(plugin_path).is_file():
            return None
        self._libraries.append(plugin_path)
        return object()


REGISTRY = IPluginRegistry()


def get_plugin_registry() -> IPluginRegistry:
    return REGISTRY


def init_libnvinfer_plugins(logger: Any, namespace: str) -> bool:
    need("init_libnvinfer_plugins", (logger, ILogger), (namespace, str))
    logger.log(ILogger.VERBOSE, "Registered plugin creator - ::EfficientNMS_TRT version 1")
    return True
