"""Releases of a package: those of the index, each installed in an environment of its own."""

import re
import secrets
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.record import replace
from enginescope.records.verdict.upgrade import Release
from enginescope.runner.environment_fingerprint import interpreter
from enginescope.runner.fleet.environment import Environment
from enginescope.services.upgrade.stacks import parse_stack, with_versions

#: Limit of one command of pip.
_PIP_S = 600.0
#: Version of this Python, for which files are.
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
_BIN = "Scripts" if sys.platform == "win32" else "bin"


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, which order releases."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def parse_span(text: str) -> tuple[str, str]:
    """Return the ends of ``1.19..1.32``."""
    first, dots, last = text.partition("..")
    if not dots or not version_key(first) or not version_key(last):
        hint = "FIRST..LAST, as 1.19..1.32"
        raise UsageError(f"search {text!r}", why="it is not a range", hint=hint)
    if version_key(first) > version_key(last):
        raise UsageError(f"search {text!r}", why=f"{first} is later than {last}")
    return first, last


def _is_within(version: str, span: tuple[str, str]) -> bool:
    first, last = map(version_key, span)
    key = version_key(version)
    return first <= key and key[: len(last)] <= last


def named_releases(pythons: Sequence[str], package: str, span: tuple[str, str]) -> list[Release]:
    """Return the releases of interpreters, each ``[VERSION=]PYTHON``, within a range."""
    releases = []
    for text in pythons:
        stack = parse_stack(text, "python")
        version = stack.name if "=" in text else with_versions(stack).versions.get(package)
        if version is None:
            raise UsageError(text, why=f"has no {package}", hint="VERSION=PYTHON names it")
        if _is_within(version, span):
            releases.append(Release(version=version, python=stack.python))
    return sorted(releases, key=lambda release: version_key(release.version))


def indexed_releases(package: str, span: tuple[str, str]) -> list[Release]:
    """Return the final releases of the configured index within a range; none is installed yet.

    Those without a file for this Python have a failure.
    """
    asked = _pip("-vv", "index", "versions", package)
    listed = re.search(r"^Available versions: (.*)$", asked.stdout, re.MULTILINE)
    if listed is None:
        why = _last_line(asked.stderr or asked.stdout)
        hint = "pip index versions PACKAGE asks the index that pip is configured for"
        raise UsageError(f"releases of {package}", why=why, hint=hint)
    usable = set(listed[1].split(", "))
    name = "[-_.]".join(map(re.escape, re.split(r"[-_.]+", package)))
    skipped = set(re.findall(rf"Skipping link: .*/{name}-(\d[^-/]*)-", asked.stdout))
    return [
        Release(
            version=version,
            failure=None if version in usable else f"no file for Python {HERE} on this machine",
        )
        for version in sorted(usable | skipped, key=version_key)
        if _is_within(version, span) and not re.search("[A-Za-z]", version)
    ]


def installed(release: Release, package: str, folder: Path, tell: Callable[[str], None]) -> Release:
    """Return a release with its environment below `folder`, made where it is not there yet.

    The environment sees the packages of this Python, so that it differs in the package alone and in
    what the package needs otherwise.
    """
    if release.python is None and release.failure is None:
        place = folder / f"{package}-{release.version}-{HERE}"
        if not place.is_dir():
            tell(f"installing {package} {release.version} …")
            failure = _made(f"{package}=={release.version}", place)
            if failure is not None:
                return Release(version=release.version, failure=failure)
        python = place / _BIN / Path(sys.executable).name
        release = Release(version=release.version, python=str(python))
    if release.python is None:
        return release
    failure = None
    try:
        Environment(release.version, release.python).conditions()
        imported = _run([release.python, "-c", f"import {package.partition('-')[0]}"])
        failure = _last_line(imported.stderr) if imported.returncode else None
    except UsageError as error:
        failure = str(error)
    return replace(release, failure=failure)


def _made(requirement: str, place: Path) -> str | None:
    """Install a requirement into a new environment; return why that failed."""
    new = place.with_name(f"new-{secrets.token_hex(4)}")
    venv.create(new, symlinks=sys.platform != "win32")
    python = new / _BIN / Path(sys.executable).name
    asked = _run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    lines = [f"import site; site.addsitedir({path!r})" for path in site.getsitepackages()]
    lines += [path for path in sys.path if path and not path.startswith(sys.base_prefix)]
    (Path(asked.stdout.strip()) / "of_enginescope.pth").write_text("\n".join(lines) + "\n")
    ended = _pip(
        "--python", str(python), "install", "--quiet", "--only-binary", ":all:", requirement
    )
    if ended.returncode:
        shutil.rmtree(new, ignore_errors=True)
        return _last_line(ended.stderr)
    new.rename(place)
    return None


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    if find_spec("pip") is not None:
        return _run([*interpreter(), "-m", "pip", *arguments])
    uv = shutil.which("uv")
    if uv is None:
        why = "one of them installs the releases"
        hint = "python -m ensurepip, or name interpreters with `pythons`"
        raise MissingDependencyError("neither pip nor uv is here", why=why, hint=hint)
    return _run([uv, "tool", "run", "--python", sys.executable, "pip", *arguments])


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_PIP_S, check=False)
    except subprocess.TimeoutExpired:
        why = f"it did not end within {_PIP_S:.0f} s"
        return subprocess.CompletedProcess(command, 1, "", f"{command[0]}: {why}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines[::-1] if "notice" not in line), "no reason was printed")
