"""Tokens of a server: each with a name, scopes and an expiry date; only their digests are kept."""

import hashlib
import re
import secrets
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal, get_args

from enginescope.core.errors import StoreError, UsageError, os_errors_as
from enginescope.core.jsonio import decode, encode, read_stored
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.store.run_names import locked

#: What a token allows: pages, runs to be pushed, or all of that and the list of pushes.
TokenScope = Literal["read", "push", "admin"]
SCOPES: tuple[TokenScope, ...] = get_args(TokenScope)
#: Folder of a store for what is of a server: its tokens, what was pushed, alerts that were sent.
FOLDER = "server"
FILE = "tokens.json"
#: Version of the file's shape.
SCHEMA = 1
#: So that a scanner for secrets finds one that was published.
_PREFIX = "es_"
_BYTES = 32
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class AccessToken(Record, frozen=True, kw_only=True):
    """A token, without the token.

    Attributes:
        digest: SHA-256 of the token, which has 256 random bits: no salt is needed.
        created, expires: UTC, ISO 8601; without `expires` it has no end.
    """

    name: str
    digest: str
    scopes: tuple[TokenScope, ...]
    created: str = ""
    expires: str | None = None

    def allows(self, scope: TokenScope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= _iso(datetime.now(timezone.utc))


class _Document(Record, frozen=True, kw_only=True):
    """The file.

    Attributes:
        cookie_key: What the server signs cookies with.
    """

    cookie_key: str
    tokens: tuple[AccessToken, ...] = ()
    schema_version: int = SCHEMA


class ServerTokens:
    """The tokens of the server of a store.

    Args:
        store: Folder of the store.
    """

    def __init__(self, store: Path) -> None:
        self._folder = store / FOLDER
        self.file = self._folder / FILE
        self._state: tuple[int, int, int] | None = None
        self._document: _Document | None = None

    def all(self) -> tuple[AccessToken, ...]:
        """Return all tokens, expired ones too; the file is read again only if it has changed."""
        document = self._read()
        return document.tokens if document else ()

    @property
    def cookie_key(self) -> str | None:
        """What cookies are signed with; ``None`` until the first token is created."""
        document = self._read()
        return document.cookie_key if document else None

    def create(self, name: str, scopes: tuple[TokenScope, ...], lifetime: timedelta | None) -> str:
        """Keep the digest of a fresh token, and return the token, which cannot be had again.

        Args:
            lifetime: From now on; ``None``: it has no end.
        """
        if _NAME.fullmatch(name) is None:
            what = f"token name {name!r}"
            raise UsageError(what, why="a name is up to 64 letters, digits, '.', '_', '@', '-'")
        token = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = datetime.now(timezone.utc)
        added = AccessToken(
            name=name,
            digest=digest_of(token),
            scopes=tuple(scope for scope in SCOPES if scope in scopes),
            created=_iso(now),
            expires=_iso(now + lifetime) if lifetime is not None else None,
        )
        with locked(self._folder, "tokens"):
            document = self._read() or _Document(cookie_key=secrets.token_urlsafe(_BYTES))
            if any(token.name == name for token in document.tokens):
                hint = f"choose another name, or first: enginescope serve tokens revoke {name}"
                raise UsageError(f"there is a token {name!r}", hint=hint)
            self._write((*document.tokens, added), document.cookie_key)
        return token

    def revoke(self, name: str) -> None:
        """Forget a token; a server that runs refuses it from then on."""
        with locked(self._folder, "tokens"):
            document = self._read()
            tokens = document.tokens if document else ()
            names = [token.name for token in tokens]
            if document is None or name not in names:
                hint = "enginescope serve tokens create makes one"
                hint = did_you_mean(name, names) if names else hint
                raise UsageError(f"there is no token {name!r}", hint=hint)
            self._write(tuple(token for token in tokens if token.name != name), document.cookie_key)

    def _read(self) -> _Document | None:
        try:
            status = self.file.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {self.file}", why=error.strerror) from error
        state = (status.st_mtime_ns, status.st_ino, status.st_size)
        if self._document is None or state != self._state:
            document = decode(read_stored(self.file), _Document, source=str(self.file))
            if document.schema_version > SCHEMA:
                why = f"it is of version {document.schema_version}, known up to {SCHEMA}"
                raise StoreError(str(self.file), why=why, hint="install a newer enginescope")
            self._document, self._state = document, state
        return self._document

    def _write(self, tokens: tuple[AccessToken, ...], cookie_key: str) -> None:
        data = encode(_Document(cookie_key=cookie_key, tokens=tokens))
        part = self.file.with_name(f".{FILE}.part")
        with os_errors_as(StoreError, f"cannot write {self.file}"):
            self._folder.chmod(_PRIVATE_FOLDER)
            part.unlink(missing_ok=True)
            part.touch(_PRIVATE)
            part.write_bytes(data)
            part.replace(self.file)  # a fresh file each time: whoever reads sees that it changed


def digest_of(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
