"""A connection: how many there are, how long one may say or take nothing, and problems as everywhere else."""

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

MOST = 500  # at once: each is an open file, and a process often has no more than 1,024
HEAD_SECONDS = 20.0  # for the first line and the headers; the guard bounds the body
ANSWER_SECONDS = 30.0  # in which some of an answer has to be taken


class Connection(H11Protocol):
    """uvicorn's, which would wait forever for a request that does not come, or not to its end, and for a client
    that does not take its answer."""

    _hanging_up: asyncio.TimerHandle | None = None  # while a request is awaited
    _silent_since = 0.0  # since when the last request is or was awaited
    _giving_up: asyncio.TimerHandle | None = None  # while an answer waits to be taken

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(over=True)
        self._go_on()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Who still sends, so that nothing was begun, or does not take the answer, would hold up the end."""
        super().shutdown()
        if self.conn.their_state is h11.SEND_BODY or self._giving_up:
            self.transport.abort()

    def _wait(self, *, over: bool = False) -> None:
        """For the rest of a request's head: from when it is awaited until it is there, however it trickles. So for
        the rest of a body that nobody wanted: the answer is out."""
        awaited = not over and (self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE)
        if awaited and self._hanging_up is None:
            self._hanging_up = self.loop.call_later(HEAD_SECONDS, self.transport.close)
            self._silent_since = time.monotonic()  # the loop's clock stands still while many arrive
        elif not awaited and self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _watch(self, before: int | None = None) -> None:
        """Give up where nothing was taken of what was there before."""
        left = self.transport.get_write_buffer_size()
        if before is not None and left >= before:
            self.transport.abort()
        else:
            self._giving_up = self.loop.call_later(ANSWER_SECONDS, self._watch, left)

    def _go_on(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _make_room(self) -> None:
        """Whoever has been silent longest goes, or else whose body has been awaited longest: nothing was begun.
        Where all the others are at work, this one is told so."""
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        awaited = [one for one in others if not one.transport.is_closing() and one._is_awaited()]
        if awaited:
            longest = min(awaited, key=lambda one: (one._hanging_up is None, one._silent_since))
            longest.transport.close()
        else:
            self.app = _full

    def _is_awaited(self) -> bool:
        return self._hanging_up is not None or self.conn.their_state is h11.SEND_BODY

    def send_400_response(self, msg: str) -> None:
        answer = problems.answer(Refused(400, f"{msg} Send one that fits HTTP/1.1.", connection="close"))
        head = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    """What answers where there is no room."""
    log.warning("a connection more than %d, all of them at work, was sent away", MOST)
    told = Refused(503, f"{MOST} connections are at work already. Try again in a moment.", connection="close")
    await problems.answer(told)(scope, receive, send)
