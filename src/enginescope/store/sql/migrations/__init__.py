"""Alembic's migrations of the index, in the package so that an installation can run them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.store.sql.sqlite_file import DamagedIndexError

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: The newest migration under ``versions``; a test holds the two together.
HEAD = "0001"


def upgrade(connection: Connection) -> None:
    """Bring the tables to the newest migration, within the caller's transaction."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise DamagedIndexError("the index of runs", why=str(error)) from error
