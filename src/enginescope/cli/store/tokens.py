"""``enginescope serve tokens``: create, list and revoke tokens of a server."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import click

from enginescope.cli.messages import note
from enginescope.cli.options import Parsed, json_option, option, store_option
from enginescope.cli.report_output import print_data
from enginescope.cli.verb import verb_of_verbs
from enginescope.core.errors import UsageError
from enginescope.store.server_tokens import SCOPES, TokenScope

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace
    from enginescope.store.server_tokens import ServerTokens

_NEVER = "never"
_MOST_DAYS = 36_500


def _lifetime(text: str) -> timedelta | str:
    """Return how long ``90d`` or a day to come is; ``never`` as it is."""
    if text == _NEVER:
        return text
    number = text.removesuffix("d")
    if text.endswith("d") and number.isdecimal() and 1 <= int(number[:9]) <= _MOST_DAYS:
        return timedelta(days=int(number))
    try:
        end = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=timezone.utc)
    except ValueError:
        end = None
    if end is None or end <= datetime.now(timezone.utc):
        raise UsageError(
            f"{text!r} is not a day in the future",
            hint="a number of days, as 90d, a date, as 2027-01-31, or never",
        )
    return end - datetime.now(timezone.utc)


@verb_of_verbs(
    "tokens",
    "Let a runner push for 90 days",
    "enginescope serve tokens create nightly --scope push",
    "List the tokens",
    "enginescope serve tokens list",
)
def command() -> None:
    """Create, list and revoke tokens for enginescope serve.

    A token has a name, scopes and an expiry date. The store keeps only its SHA-256.
    """


@command.verb(
    "create",
    "Let a runner push for 90 days",
    "enginescope serve tokens create nightly --scope push",
    "Let a person read until a date",
    "enginescope serve tokens create ada --scope read --expires 2027-01-31",
)
@click.argument("name")
@option(
    "--scope scopes",
    "Allow to read pages, to push runs, or both and the list of pushes (admin).",
    click.Choice(SCOPES),
    multiple=True,
    default=("read",),
)
@option(
    "--expires lifetime",
    "Expiry of the token.",
    Parsed("lifetime", _lifetime),
    default="90d",
    metavar="DAYSd|DATE|never",
)
@store_option
@json_option
def create_token(
    name: str,
    scopes: tuple[TokenScope, ...],
    lifetime: timedelta | str,
    store_folder: StorePlace | None,
    as_json: bool,
) -> None:
    """Create the token NAME and print it; nobody can show it again."""
    tokens = _tokens(store_folder)
    token = tokens.create(name, scopes, lifetime if isinstance(lifetime, timedelta) else None)
    created = next(row for row in tokens.all() if row.name == name)
    if as_json:
        print_data({"token": token, **_row(created)})
        return
    print(token)
    note(f"{name}: {', '.join(created.scopes)}; expires {created.expires or _NEVER}")
    note("keep it now; enginescope runs push reads it from --token-file or $ENGINESCOPE_TOKEN")


@command.verb(
    "list",
    "List the tokens",
    "enginescope serve tokens list",
    "List them as JSON",
    "enginescope serve tokens list --json",
)
@store_option
@json_option
def list_tokens(store_folder: StorePlace | None, as_json: bool) -> None:
    """List names, scopes and expiry dates of the tokens."""
    from enginescope.render.base.text import show, table

    tokens = _tokens(store_folder).all()
    if as_json:
        print_data([_row(token) for token in tokens])
    elif tokens:
        rows = []
        for token in tokens:
            expires = (token.expires or _NEVER)[:10] + (", expired" if token.is_expired else "")
            rows.append((token.name, ", ".join(token.scopes), token.created[:10], expires))
        show(table(("name", "scopes", "created", "expires"), rows))
    else:
        note("no tokens; enginescope serve tokens create NAME makes one")


@command.verb(
    "revoke",
    "Revoke a token",
    "enginescope serve tokens revoke nightly",
    "Revoke it in another store",
    "enginescope serve tokens revoke nightly --store folder/",
)
@click.argument("name")
@store_option
@json_option
def revoke_token(name: str, store_folder: StorePlace | None, as_json: bool) -> None:
    """Revoke the token NAME; a running server refuses it at once."""
    _tokens(store_folder).revoke(name)
    print_data({"revoked": name}) if as_json else print(f"{name} is revoked")


def _tokens(place: StorePlace | None) -> ServerTokens:
    from enginescope.store.location import store_folder
    from enginescope.store.server_tokens import ServerTokens

    return ServerTokens(store_folder(place))


def _row(token: object) -> dict[str, object]:
    from msgspec import to_builtins

    row: dict[str, object] = to_builtins(token)
    del row["digest"]
    return row
