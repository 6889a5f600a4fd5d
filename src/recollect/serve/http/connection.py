"""A connection, with an end to how long it may keep a request to itself, and with problems as everywhere else."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.serve.http import problems
from recollect.serve.http.problems import Refused

HEAD_SECONDS = 20.0  # for the first line and the headers; the guard bounds the body


class Connection(H11Protocol):
    """uvicorn's, which would wait forever for a request that does not come, or not to its end."""

    _hanging_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(over=True)
        super().connection_lost(exc)

    def _wait(self, *, over: bool = False) -> None:
        """For the rest of a request's head: from when it is awaited until it is there, however it trickles. So for
        the rest of a body that nobody wanted: the answer is out."""
        awaited = not over and (self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE)
        if awaited and self._hanging_up is None:
            self._hanging_up = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        elif not awaited and self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def send_400_response(self, msg: str) -> None:
        answer = problems.answer(Refused(400, f"{msg} Send one that fits HTTP/1.1.", connection="close"))
        head = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
