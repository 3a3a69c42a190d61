"""``enginescope push``: stored runs to a server."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.options import json_option, note, store_option
from enginescope.cli.token_option import VARIABLE, given_token, token_option
from enginescope.core.errors import FormatError, StoreError, UsageError

if TYPE_CHECKING:
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace
    from enginescope.store.remote import RemoteStore

EXIT_LEFT_OUT = 3


@click.command("push")
@click.argument("url", metavar="URL")
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option("--tag", help="Those with this tag.")
@click.option("--model", help="Those with this in the model's name.")
@click.option("--on", "backend", help="Those on backends that begin so.")
@token_option("The server's token")
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    url: str,
    names: tuple[str, ...],
    store_folder: StorePlace | None,
    **options: Any,
) -> None:
    """Send RUNs to the server at URL, which was started with --accept-push.

    Without RUNs, every stored run that the options leave. What the server has already is not sent
    again: a push that was cut off goes on where it was.
    """
    from enginescope.core.loopback import is_loopback
    from enginescope.store.archive import Store
    from enginescope.store.remote import RemoteStore

    token = given_token(options["token_file"])
    if token is None:
        raise UsageError(
            "the server's token is needed", hint=f"--token-file FILE, or set {VARIABLE}"
        )
    store, server = Store(store_folder), RemoteStore(url, token)
    if server.is_plain and not is_loopback(server.host):
        note("http:// can be read on its way, the token too; https:// cannot")
    ids = _chosen(store, names, options)
    server.check()
    missing = server.missing(ids)
    sent, left_out = _send(store, server, missing)
    _tell(server, sent, left_out, there=len(ids) - len(missing), as_json=options["as_json"])
    ctx.exit(EXIT_LEFT_OUT if left_out else 0)


def _chosen(store: Store, names: tuple[str, ...], options: dict[str, Any]) -> list[str]:
    wanted = {name: options[name] for name in ("tag", "model", "backend")}
    if names and any(wanted.values()):
        raise UsageError("runs by name, and options that choose others", hint="give either")
    if names:
        return list(dict.fromkeys(store.id_of(name) for name in names))
    rows = store.rows(**wanted)
    for one in store.notices:
        note(f"{one.message} ({one.code})")
    if not rows:
        raise UsageError("no such runs", why=f"in {store.place}")
    return [row.id for row in reversed(rows)]  # the oldest first, as they were made


def _send(
    store: Store, server: RemoteStore, ids: tuple[str, ...]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Send runs, and return those that were taken and those that could not be, with the reason."""
    sent, left_out = [], []
    with tempfile.TemporaryDirectory(prefix="enginescope-") as folder:
        for number, run_id in enumerate(ids, 1):
            file = Path(folder) / f"{run_id}.zip"
            try:
                store.load_id(run_id)  # a damaged run is not passed on
                server.put(run_id, store.export(run_id, file))
                sent.append(run_id)
            except FormatError as error:
                left_out.append((run_id, str(error)))
            except StoreError as error:
                if not store.has(run_id) or not _is_of_one_run(error):
                    raise
                left_out.append((run_id, error.why or str(error)))
            finally:
                file.unlink(missing_ok=True)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(ids)} runs", end="", file=sys.stderr, flush=True)
    if ids and sys.stderr.isatty():
        print(file=sys.stderr)
    return sent, left_out


def _is_of_one_run(error: StoreError) -> bool:
    """Whether the server refused this run and would take others."""
    why = error.why or ""
    return why.startswith(("not a run", "more than"))


def _tell(
    server: RemoteStore,
    sent: list[str],
    left_out: list[tuple[str, str]],
    *,
    there: int,
    as_json: bool,
) -> None:
    for run_id, why in left_out:
        note(f"not sent: {run_id}: {why}")
    if as_json:
        from enginescope.core.jsonio import encode

        refused = [{"run": run_id, "why": why} for run_id, why in left_out]
        sys.stdout.buffer.write(encode({"sent": sent, "left_out": refused, "there": there}))
        sys.stdout.flush()
        return
    print(f"{len(sent)} sent to {server}, {there} were there")
