"""Parts by name: those built in, and those that other packages add by entry points.

enginescope loads a plug-in when it needs one. A plug-in that cannot be loaded stops nothing else.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from enginescope.core.errors import EnginescopeError, PluginError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

#: Beginning of the names of programs that are verbs, as in git.
VERB_PREFIX = "enginescope-"


class Registry:
    """Parts of one kind by name.

    Args:
        kind: ``"backend"``: other packages add theirs as entry points of ``enginescope.backends``.
        built_in: Name -> ``"module:object"``, or ``"module"``. They hide plug-ins of these names.
        unlisted: Built-in names that `names` leaves out.
    """

    def __init__(
        self, kind: str, built_in: Mapping[str, str], *, unlisted: Collection[str] = ()
    ) -> None:
        self.kind = kind
        self.group = f"enginescope.{kind}s"
        self.built_in = built_in
        self.listed = tuple(name for name in built_in if name not in unlisted)

    def names(self) -> tuple[str, ...]:
        """Return the listed built-in names in their order, then those of plug-ins."""
        return (*self.listed, *self.plugins())

    def plugins(self) -> dict[str, EntryPoint]:
        """Return the plug-ins that no built-in part hides, by name; none is loaded."""
        points = _entry_points(self.group).items()
        return {name: point for name, point in points if name not in self.built_in}

    def load(self, name: str) -> Any:
        """Import a part.

        Raises:
            UsageError: No part has this name.
            PluginError: A plug-in cannot be loaded.
        """
        if name in self.built_in:
            return imported(self.built_in[name])
        point = self.plugins().get(name)
        if point is None:
            from enginescope.core.suggest import did_you_mean

            hint = did_you_mean(name, self.names())
            raise UsageError(f"no {self.kind} is called {name!r}", hint=hint)
        return self.call(name, point.load)

    def call(self, name: str, function: Any, *arguments: Any) -> Any:
        """Call a function of a part: what surprises a plug-in is an error that names it.

        Raises:
            PluginError: A plug-in raised an error that is not enginescope's.
        """
        try:
            return function(*arguments)
        except EnginescopeError:
            raise
        except Exception as error:
            if name in self.built_in:
                raise
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise self._failed(name, why) from error

    def usable(self) -> Iterator[tuple[str, Any]]:
        """Load each plug-in; yield its name, and the part, or the `EnginescopeError` of loading."""
        for name in _entry_points(self.group):
            try:
                if name in self.built_in:
                    raise self._failed(name, f"a built-in {self.kind} has this name")
                part = self.load(name)
            except EnginescopeError as error:
                part = error
            yield name, part

    def package(self, name: str) -> str:
        """Return name and version of the package that a plug-in comes from."""
        point = _entry_points(self.group)[name]
        return f"{point.dist.name} {point.dist.version}" if point.dist else point.value

    def _failed(self, name: str, why: str) -> PluginError:
        package = self.package(name)
        hint = f"update or uninstall {package.partition(' ')[0]}"
        return PluginError(f"{self.kind} {name} of {package} failed", why=why, hint=hint)


def read_options(tail: str, what: str) -> dict[str, str]:
    """Return the options in ``KEY=VALUE&KEY=VALUE``, which may be empty.

    Args:
        what: Names the whole text in an error.
    """
    pairs = [pair.partition("=") for pair in tail.split("&")] if tail else []
    for key, equals, value in pairs:
        if not key or not equals:
            why = f"{f'{key}{equals}{value}'!r} is not an option"
            raise UsageError(what, why=why, hint="options are written ?key=value&key=value")
    return {key: value for key, _, value in pairs}


def imported(where: str) -> Any:
    """Import ``"module:object"``, or ``"module"``."""
    module, _, part = where.partition(":")
    return getattr(import_module(module), part) if part else import_module(module)


@cache
def _every_entry_point() -> dict[str, dict[str, EntryPoint]]:
    """Return the entry points of all installed packages for enginescope, by group and name."""
    from importlib.metadata import distributions

    groups: dict[str, dict[str, EntryPoint]] = {}
    points = (point for package in distributions() for point in package.entry_points)
    for point in sorted(points, key=lambda point: point.name):
        if point.group.startswith("enginescope."):
            groups.setdefault(point.group, {}).setdefault(point.name, point)
    return groups


def _entry_points(group: str) -> Mapping[str, EntryPoint]:
    return _every_entry_point().get(group, {})


def packages_with(kind: str) -> frozenset[str]:
    """Return the packages that add parts of a kind, and the packages that these require."""
    dists = [point.dist for point in _entry_points(f"enginescope.{kind}s").values() if point.dist]
    required = (line for dist in dists for line in dist.requires or () if "extra ==" not in line)
    names = (re.match(r"[\w.-]+", line) for line in (*(dist.name for dist in dists), *required))
    return frozenset(name[0] for name in names if name) - {"enginescope"}


def search_path() -> str:
    """Return the PATH, and at its end the folder of this Python's programs."""
    own = os.path.dirname(sys.executable)  # noqa: PTH120 - see `outside_verbs`
    return os.pathsep.join((os.environ.get("PATH", os.defpath), own))


def outside_verbs() -> dict[str, Path]:
    """Return the programs on the PATH that are verbs, by the names of the verbs."""
    from pathlib import Path  # takes a tenth of the time of ``--help``

    found: dict[str, Path] = {}
    for folder in search_path().split(os.pathsep):
        for program in sorted(Path(folder or os.curdir).glob(f"{VERB_PREFIX}?*")):
            if program.is_file() and os.access(program, os.X_OK):
                name = program.name.removeprefix(VERB_PREFIX).removesuffix(".exe")
                found.setdefault(name, program)
    return found
