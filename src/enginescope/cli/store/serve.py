"""``enginescope serve``: a small web page over the store."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli import token_option
from enginescope.cli.messages import note, warn
from enginescope.cli.options import EXISTING, SIZE, option, store_option
from enginescope.cli.store.tokens import command as tokens
from enginescope.cli.verb import refuse_typed, verb_of_verbs
from enginescope.core import optional
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.serve.access import Access
    from enginescope.serve.configuration import Configuration
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace


@verb_of_verbs(
    "serve",
    "Show the store on this machine",
    "enginescope serve",
    "Accept runs from other machines",
    "enginescope serve --host 0.0.0.0 --accept-push --token-file token",
    invoke_without_command=True,
)
@option("--host", "Address to listen on.", default="127.0.0.1")
@option(
    "--port", "Port to listen on; 0 picks a free port.", click.IntRange(0, 65_535), default=8642
)
@token_option.token_option("Read the access token from this file, or create one there.")
@option("--accept-push", "Accept runs from enginescope runs push.", is_flag=True)
@option("--max-upload", "Maximum size of one uploaded run.", SIZE, default="256MiB")
@option(
    "--config configuration",
    "Read gates and webhooks from a TOML file: tables [[gate]] and [[webhook]].",
    EXISTING,
    heading="Store",
)
@option("--certificate", "Certificate for https; needs --key.", EXISTING)
@option("--key key_file", "Private key of the certificate.", EXISTING)
@store_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Serve the store as web pages: runs, models, histories, comparisons, suites.

    The pages are read-only. Listening on another address than this machine's, or --accept-push,
    requires a token: enginescope serve tokens create NAME makes one with scopes. --token-file FILE
    makes one that allows everything.
    """
    if ctx.invoked_subcommand is None:
        _serve(**options)
    else:
        refuse_typed("before a verb of serve", but=(), hint="give the option after the verb")


command.add_command(tokens)


def _serve(store_folder: StorePlace | None, host: str, port: int, **options: Any) -> None:
    for name in ("starlette", "uvicorn", "itsdangerous"):
        optional.require(name, purpose="serving pages", install="enginescope[serve]")
    from enginescope.serve.app import Taking, application
    from enginescope.store.archive import Store

    if bool(options["certificate"]) != bool(options["key_file"]):
        raise UsageError("--certificate and --key need each other")
    store = Store(store_folder)
    access = _access(host, options["token_file"], store, must_have_token=options["accept_push"])
    if options["accept_push"]:
        store.check_writable()
    taking = Taking(is_on=options["accept_push"], most_bytes=options["max_upload"])
    configuration = _configuration(options["configuration"])
    made = application(store, access, taking, configuration, say=warn)
    with _listening(host, port) as listener:
        _tell(listener, store, access, options)
        _run(made, listener, options["certificate"], options["key_file"])


def _configuration(file: Path | None) -> Configuration | None:
    from enginescope.serve.configuration import read_configuration

    if file is None:
        return None
    configuration = read_configuration(file)
    for hook in configuration.webhook:
        if token_option.is_open_to_others(Path(hook.secret_file)):
            warn(f"others on this machine may read {hook.secret_file}: chmod 600")
    return configuration


def _access(host: str, file: Path | None, store: Store, *, must_have_token: bool) -> Access:
    from enginescope.core.http_pool import is_loopback
    from enginescope.serve.access import OWN_NAMES, Access, check_token
    from enginescope.store.server_tokens import ServerTokens

    if file is not None and token_option.made_token(file):
        note(f"a new token is in {file}")
    elif file is not None and token_option.is_open_to_others(file):
        warn(f"others on this machine may read {file}: chmod 600 {file}")
    token = token_option.given_token(file)
    named = ServerTokens(store.path)
    is_local, has_named = is_loopback(host), bool(named.all())
    why = "the server accepts runs" if must_have_token else None
    why = why if is_local else f"{host} can be reached from other machines"
    if has_named and all(one.is_expired for one in named.all()):
        why, has_named = f"all of {named.file} have expired", False
    if why and token is None and not has_named:
        raise UsageError(
            "a token is needed",
            why=why,
            hint="enginescope serve tokens create NAME makes one; --token-file FILE makes one for "
            f"everything; or set {token_option.VARIABLE}",
        )
    checked = check_token(token) if token is not None else None
    hosts = OWN_NAMES | {host.lower(), f"[{host.strip('[]')}]"} if is_local else None
    return Access(token=checked, named=named if has_named or checked else None, hosts=hosts)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot listen on {host}, port {port}", why=why, hint="--port 0 chooses a free port"
        ) from error


def _tell(listener: socket.socket, store: Store, access: Access, options: dict[str, Any]) -> None:
    host, port = listener.getsockname()[:2]
    scheme = "https" if options["certificate"] else "http"
    shown = f"[{host}]" if ":" in host else host
    note(f"{scheme}://{shown}:{port} shows {store.place}; Ctrl-C ends it")
    if scheme == "http" and access.hosts is None:
        warn("without --certificate, the token and the pages can be read on their way")


def _run(made: Any, listener: socket.socket, certificate: Path | None, key: Path | None) -> None:
    from enginescope.serve.connections import server

    server(made, certificate=certificate, key=key).run(sockets=[listener])
