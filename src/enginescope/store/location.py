"""Where the store is."""

import os
import re
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

from enginescope.core.errors import UsageError

VARIABLE = "ENGINESCOPE_HOME"
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.]*)://")
#: user:password@ and what names a password among the options
_PASSWORD = re.compile(r"(?<=://)([^:/?#@\s]*):\S*@|((?:password|passfile|sslpassword)=)[^&#\s]*")
#: What `without_password` has put into a URL.
_MASK = re.compile(r":\*\*\*(?=@)|(?<=[?&])(?:password|passfile|sslpassword)=\*\*\*&?")
_ARTIFACTS = "artifacts="
_SCHEMES = ("postgresql+psycopg", "sqlite")


class DatabaseUrl:
    """SQLAlchemy's URL of a store that is a database. Its text and `repr` hide the password.

    Args:
        url: ``postgresql+psycopg://user@host/name``, ``sqlite:////path/to/team.db``;
            ``?artifacts=WHERE`` names a folder or URL for artifacts.

    Attributes:
        secret_url: With the password, without what is ours.
    """

    __slots__ = ("artifacts", "secret_url")

    def __init__(self, url: str) -> None:
        match = _URL.match(url)
        scheme = match["scheme"] if match else ""
        if scheme in ("postgresql", "postgres"):
            url, scheme = f"{_SCHEMES[0]}{url[len(scheme) :]}", _SCHEMES[0]
        if scheme not in _SCHEMES:
            what = f"store {without_password(url)}"
            hint = f"a folder, or a URL as {' and '.join(f'{one}://' for one in _SCHEMES)}"
            raise UsageError(what, why="it is neither a folder nor a database of runs", hint=hint)
        self.secret_url, self.artifacts = _parted(url)

    @property
    def file(self) -> Path | None:
        """The file that a database is; ``None``: a server has it."""
        scheme, _, rest = self.secret_url.partition(":///")
        return Path(rest.partition("?")[0]) if scheme == "sqlite" else None

    def __str__(self) -> str:
        """Return the URL without its password."""
        return without_password(self.secret_url)

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatabaseUrl) and other.secret_url == self.secret_url

    def __hash__(self) -> int:
        return hash(self.secret_url)


def _parted(url: str) -> tuple[str, str | None]:
    address, _, query = url.partition("?")
    options = [one for one in query.split("&") if one]
    named = [option for option in options if option.startswith(_ARTIFACTS)]
    others = "&".join(option for option in options if not option.startswith(_ARTIFACTS))
    where = unquote(named[-1].removeprefix(_ARTIFACTS)) if named else None
    return f"{address}?{others}" if others else address, where or None


#: What can be given as a store.
StorePlace: TypeAlias = Path | DatabaseUrl


def parse_place(text: str) -> StorePlace:
    """Return a folder's path, or the URL of a database."""
    return DatabaseUrl(text) if _URL.match(text) else Path(text)


def recorded_place(text: str) -> StorePlace:
    """Return a place as a record names it: a password was not stored with it."""
    return parse_place(_MASK.sub("", text))


def without_password(text: str) -> str:
    """Return a text, a command line for one, with ``***`` for the passwords in its URLs."""
    return _PASSWORD.sub(lambda found: f"{found[2]}***" if found[2] else f"{found[1]}:***@", text)


def store_place(explicit: StorePlace | None = None) -> StorePlace:
    """Return `explicit`, else ``$ENGINESCOPE_HOME``, else the platform's data folder."""
    place = explicit
    if place is None and os.environ.get(VARIABLE):
        place = parse_place(os.environ[VARIABLE])
    if place is None:
        return _default()
    if isinstance(place, DatabaseUrl):
        return place
    try:
        return place.expanduser().resolve()
    except RuntimeError as error:  # no such user, or no home to expand
        raise UsageError(f"store {place}", why=str(error), hint="give the folder in full") from None


def store_folder(explicit: StorePlace | None = None) -> Path:
    """Return the store's folder; of a database the platform's: for what is of this machine."""
    place = store_place(explicit)
    return _default() if isinstance(place, DatabaseUrl) else place


def _default() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("enginescope", appauthor=False)).resolve()
