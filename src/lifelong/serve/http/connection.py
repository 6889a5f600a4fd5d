"""Limit what a connection may cost: how many there are, and how long one may send or read nothing (SPEC S2, S8).

uvicorn bounds the size of a head (`h11_max_incomplete_event_size`) and the pause between two requests
(`timeout_keep_alive`). It waits forever for a first request, for one that trickles, and for a client that does not
read its answer; its `limit_concurrency` counts those silent connections and turns away everybody else.
"""

from __future__ import annotations

import asyncio
import logging
import time

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from lifelong.serve.http import problems
from lifelong.serve.http.problems import Refused

log = logging.getLogger("lifelong.serve")

MAX_CONNECTIONS = 500  # each is an open file, and a process often has no more than 1,024
MAX_HEAD_BYTES = 64 << 10
HEAD_TIMEOUT_SECONDS = 20.0  # for the request line and the headers; the guard bounds the body
READ_TIMEOUT_SECONDS = 30.0  # in which the client has to read some of its answer


class LimitedConnection(H11Protocol):
    """A connection of uvicorn that is closed when its client sends or reads nothing for too long."""

    _head_timer: asyncio.TimerHandle | None = None  # while a request is awaited
    _awaited_since = 0.0  # when the last request began to be awaited
    _read_timer: asyncio.TimerHandle | None = None  # while an answer waits to be read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_head_timer()
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_head_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless an answer is under way, and disconnect. A request whose body it was gets
        no other answer."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]  # at first
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_head_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._check_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_read_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_head_timer(is_over=True)
        self._stop_read_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Do not wait for a client that still sends (no work has begun) or does not read its answer."""
        super().shutdown()
        if self.conn.their_state is h11.SEND_BODY or self._read_timer:
            self.transport.abort()

    def _set_head_timer(self, *, is_over: bool = False) -> None:
        """Run the timer from when a head is awaited until it is complete, however it trickles; and while the rest
        of a body comes that nothing reads, because the answer is out."""
        is_awaited = not is_over and (self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE)
        if is_awaited and self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self.transport.close)
            self._awaited_since = time.monotonic()  # the loop's clock stands still while many arrive
        elif not is_awaited and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _check_reader(self, before: int | None = None) -> None:
        """Disconnect a client that has read nothing since the last check."""
        unread = self.transport.get_write_buffer_size()
        if before is not None and unread >= before:
            self.transport.abort()
        else:
            self._read_timer = self.loop.call_later(READ_TIMEOUT_SECONDS, self._check_reader, unread)

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _make_room(self) -> None:
        """Close the connection that has been silent longest, or else the one whose body has been awaited longest:
        for neither has work begun. Where all the others are being answered, this one gets a 503."""
        others = [one for one in self.connections if isinstance(one, LimitedConnection) and one is not self]
        idle = [one for one in others if not one.transport.is_closing() and one._is_idle()]
        if idle:
            oldest = min(idle, key=lambda one: (one._head_timer is None, one._awaited_since))
            oldest.transport.close()
        else:
            self.app = _answer_full

    def _is_idle(self) -> bool:
        return self._head_timer is not None or self.conn.their_state is h11.SEND_BODY


async def _answer_full(scope: Scope, receive: Receive, send: Send) -> None:
    log.warning("connection limit %d reached; answered 503", MAX_CONNECTIONS)
    message = f"The limit of {MAX_CONNECTIONS} connections is reached. Try again in a moment."
    await problems.answer(Refused(503, message, connection="close"))(scope, receive, send)
