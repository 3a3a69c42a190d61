"""Providers that are libraries of their own: found in their wheels, registered, asked."""

from __future__ import annotations

from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.core.errors import UnsupportedError, UsageError

_WHEELS = "onnxruntime-ep-"
#: Registered once in a process: a second registration is refused.
_registered: dict[str, str] = {}


def library_of(provider: Provider, given: str | None) -> str | None:
    """Return the library that has `provider`: `given`, or one of an installed wheel.

    Raises:
        UsageError: The one that is given is not there.
    """
    if given is not None:
        path = Path(given).expanduser()
        if not path.is_file():
            why = "it is a folder" if path.is_dir() else "there is no such file"
            raise UsageError(f"{provider.backend}: plugin={given}", why=why)
        return str(path.resolve())
    modules = {one for one in map(_module_of, metadata.distributions()) if one is not None}
    for module in sorted(modules):
        try:
            wheel = import_module(module)
            if provider.name in _names(wheel):
                return str(wheel.get_library_path())
        except (ImportError, AttributeError, OSError):
            continue  # a wheel of another kind, or one whose own libraries are missing
    return None


def devices_of(ort: Any, provider: Provider, library: str) -> list[Any]:
    """Register a library and return the devices on which it offers `provider`.

    Raises:
        UnsupportedError: This ONNX Runtime takes no libraries, this one does not load, or it finds
            no device.
    """
    register = getattr(ort, "register_execution_provider_library", None)
    if register is None:
        raise UnsupportedError(
            f"{provider.name} cannot be added to this ONNX Runtime",
            why=f"version {ort.__version__} takes no provider libraries",
            hint="pip install 'onnxruntime>=1.24'",
        )
    if _registered.get(library) is None:
        try:
            register(provider.name, library)
        except Exception as error:  # its exceptions have no common base
            raise UnsupportedError(
                f"{provider.name} did not start", why=f"{library}: {error}"
            ) from error
        _registered[library] = provider.name
    every = list(ort.get_ep_devices())
    devices = [one for one in every if one.ep_name == provider.name]
    if not devices:
        offered = ", ".join(sorted({one.ep_name for one in every}))
        raise UnsupportedError(
            f"{provider.name} finds no device here",
            why=f"{Path(library).name} is registered; devices are there for: {offered or 'none'}",
        )
    return devices


def _module_of(distribution: metadata.Distribution) -> str | None:
    name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
    if not name.startswith(_WHEELS):
        return None
    for variant in ("-cu12", "-cu13"):
        name = name.removesuffix(variant)
    return name.replace("-", "_")


def _names(wheel: Any) -> list[str]:
    many = getattr(wheel, "get_ep_names", None)
    return list(many()) if many else [str(wheel.get_ep_name())]
