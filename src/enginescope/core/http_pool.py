"""HTTP through urllib3 and the environment's proxy; addresses that only this machine reaches."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    import urllib3


def http_pool(url: str) -> urllib3.PoolManager:
    """Return connections to the host of an address; certificates are checked.

    urllib3 itself reads neither ``$https_proxy`` nor ``$no_proxy``.
    """
    import urllib3

    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    if proxy is None or proxy_bypass(parts.hostname or ""):
        return urllib3.PoolManager()
    auth = urllib3.util.parse_url(proxy).auth
    headers = urllib3.make_headers(proxy_basic_auth=auth) if auth else None
    return urllib3.ProxyManager(proxy, proxy_headers=headers)


#: Of a server or a proxy that may answer later.
_LATER = (429, 502, 503, 504)
#: Before a request is sent again; doubled each time.
WAIT_S = 0.5


def http_retries() -> urllib3.Retry:
    """Send again what was cut off, or put off; a server that is not there is not waited for.

    Only for requests that may arrive twice.
    """
    import urllib3

    return urllib3.Retry(
        connect=0,
        read=3,
        status=5,
        redirect=5,
        other=0,
        allowed_methods=None,
        status_forcelist=_LATER,
        backoff_factor=WAIT_S,
        raise_on_status=False,
    )


def reason_of_http(error: BaseException) -> str:
    """Return why a request failed, in the words of the system, and without its address."""
    from urllib3.exceptions import URLSchemeUnknown

    inner: BaseException | None = error
    innermost = error
    while inner is not None:
        if isinstance(inner, ValueError) and not isinstance(inner, URLSchemeUnknown):
            return "an address that cannot be read"
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        reason = getattr(inner, "reason", None)
        innermost = inner
        inner = (
            reason if isinstance(reason, BaseException) else inner.__cause__ or inner.__context__
        )
    return str(innermost) or type(innermost).__name__


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    return False
