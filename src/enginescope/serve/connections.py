"""Connections of the server: a silent or slow one is closed, and none keeps others out."""

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import h11
import uvicorn
from anyio import to_thread
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Open connections; beyond that, the one whose client has sent nothing for longest makes room.
MOST_CONNECTIONS = 512
#: Requests that are worked on at the same time; more are told to come again.
MOST_REQUESTS = 64
#: From the first byte, or none, to the end of a request's header.
HEADER_S = 10.0
#: Between two parts of a body, and until a client has taken what was sent.
STALL_S = 60.0
#: For a whole body, and how many bytes a second a longer one has to bring.
BODY_S, LEAST_RATE = 30.0, 1_000.0
#: Pages that are made at once, and how long one is worked on before another.
THREADS = 4
TURN_S = 0.0005


class Connection(H11Protocol):
    """One connection, closed unless a whole request header arrives in time."""

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    @property
    def is_idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    @property
    def is_half_sent(self) -> bool:
        """Whether the rest of a request is awaited."""
        return not self.is_idle and self.cycle is not None and bool(self.cycle.more_body)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Set a time limit, and make room if there are too many connections."""
        self._since = self.loop.time()
        opened = cast("set[Connection]", self.connections)
        if len(opened) >= MOST_CONNECTIONS:
            waiting = [one for one in opened if one.is_idle or one.is_half_sent]
            first = min(waiting, key=lambda one: (one.is_half_sent, one._since), default=None)
            (transport if first is None else first.transport).abort()
        # otherwise the end of each answer waits for the client's acknowledgment of its beginning
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a header do not extend its time limit."""
        super().data_received(data)
        if self.is_half_sent:
            self._since = self.loop.time()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP; a request that they belong to is given up."""
        if self.cycle is not None and not self.is_idle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        is_head = self.scope is not None and self.scope["method"] == "HEAD"
        has_begun = self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE)
        if has_begun or (is_head and self.conn.our_state is h11.SEND_RESPONSE):
            self.transport.close()  # in the middle of an answer, or of one that may have no body
        else:
            super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """Wait for the next request, no longer than for the first."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if not self.is_idle:
            self._forget()
        elif self._timer is None:
            self._since = self.loop.time()
            self._timer = self.loop.call_later(HEADER_S, self._give_up)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self.transport.close()  # after what is still to be sent
        self.loop.call_later(STALL_S, self.transport.abort)


class RequestLimit:
    """Answers so many requests at once, and gives up one whose client stalls.

    A request that waits for its body takes no place of another.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self._running >= MOST_REQUESTS:
            busy = PlainTextResponse("busy\n", status_code=503, headers={"Retry-After": "1"})
            await busy(scope, receive, send)
            return

        begin, received, is_whole = time.monotonic(), 0, False

        async def patient_receive() -> Message:
            nonlocal received, is_whole
            late_s = begin + BODY_S + received / LEAST_RATE - time.monotonic()
            self._running -= 1
            try:
                limit_s = STALL_S if is_whole else min(STALL_S, late_s)
                message = await asyncio.wait_for(receive(), limit_s)
            except asyncio.TimeoutError:
                return {"type": "http.disconnect"}
            finally:
                self._running += 1
            received += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            return message

        async def patient_send(message: Message) -> None:
            await asyncio.wait_for(send(message), STALL_S)

        self._running += 1
        try:
            await self.app(scope, patient_receive, patient_send)
        except asyncio.TimeoutError:
            return  # nobody takes the answer
        finally:
            self._running -= 1


@asynccontextmanager
async def few_threads(_app: ASGIApp) -> AsyncIterator[None]:
    """Make pages in few threads that often take turns.

    Python runs one thread at a time. Every file that is opened while others compute waits for the
    end of their turns: with 40 threads and turns of 5 ms, a history took ten times as long.
    """
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    sys.setswitchinterval(TURN_S)
    yield


def server(
    app: ASGIApp, *, certificate: Path | None = None, key: Path | None = None, **more: Any
) -> uvicorn.Server:
    """Return a server of an application, for one process.

    Args:
        more: Of `uvicorn.Config`.
    """
    settings: dict[str, Any] = {"log_level": "warning", "timeout_graceful_shutdown": 3} | more
    settings |= {"http": Connection, "ws": "none", "ssl_certfile": certificate, "ssl_keyfile": key}
    settings |= dict.fromkeys(("access_log", "server_header", "proxy_headers"), False)
    return uvicorn.Server(uvicorn.Config(app, **settings))
