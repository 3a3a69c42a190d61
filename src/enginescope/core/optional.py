"""The one door to packages that may not be installed."""

import importlib
import importlib.util
import re
from contextlib import suppress
from importlib import metadata
from types import ModuleType

from enginescope.core.errors import MissingDependencyError

#: A package that was there and failed to import has not come since.
_MISSED = re.compile(r"Python package (\S+) is not available(?!: it is installed)")


def is_installed(module: str) -> bool:
    """Whether `module` can be found, without importing it (its parents are imported)."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def versions_of(*packages: str) -> dict[str, str]:
    """Return the installed versions of `packages`; those that are not installed are left out."""
    found = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def has_come(message: str | None) -> bool:
    """Whether a package that `message`, of `MissingDependencyError`, misses is there by now."""
    found = _MISSED.match(message or "")
    return found is not None and is_installed(found[1].replace("-", "_"))


def require(module: str, *, purpose: str, install: str) -> ModuleType:
    """Import an optional module, or say how to get it.

    Args:
        module: Dotted module name, ``"vl_convert"``.
        purpose: What it is needed for: ``"writing PNG plots"``.
        install: What to give pip: ``"enginescope[plots]"``.

    Raises:
        MissingDependencyError: The module is not installed, or it is and its own import failed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "") in module
        why = f"{purpose} needs it" if missing else f"it is installed but fails to import: {error}"
        what = f"Python package {module.partition('.')[0]} is not available"
        raise MissingDependencyError(what, why=why, hint=f"pip install '{install}'") from error
