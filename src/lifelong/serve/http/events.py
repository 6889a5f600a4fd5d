"""What the worker does, as server-sent events. The worker is another process, so the database is looked at: about
once a second, once a user for all who listen, and not at all while nobody does."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from lifelong.memory import Memory
from lifelong.serve.http.params import AskedMemory, RecordId
from lifelong.serve.jsonable import plain
from lifelong.types import Changeset

log = logging.getLogger("lifelong.serve")

events = APIRouter(prefix="/events", tags=["events"])

EVERY = 1.0  # seconds
SOME = 100  # changesets that are fetched together
WAITING = 1_000  # events that a listener may leave unread


@dataclass(slots=True)
class Look:
    """What was seen last of a user."""

    overview: str = ""
    last: int = 0
    """The newest changeset."""
    new: tuple[Changeset, ...] = ()
    """Those since the look before, oldest first."""


def _look(memory: Memory, last: int | None = None) -> Look:
    """`last`: the newest changeset that was seen; without one, none is new."""
    overview = {
        "health": plain(memory.admin.health()),
        "totals": plain(memory.admin.stats()),
        "unindexed": memory.admin.unindexed(),
    }
    new = _since(memory, last) if last is not None else memory.documents.changesets(1)
    return Look(json.dumps(overview), new[0].id if new else last or 0, () if last is None else tuple(new[::-1]))


def _since(memory: Memory, last: int) -> list[Changeset]:
    """The changesets after this one, newest first; as many as a listener may leave unread."""
    limit = SOME
    while len(found := memory.documents.changesets(limit)) == limit < WAITING and found[-1].id > last:
        limit = min(10 * limit, WAITING)
    return [one for one in found if one.id > last]


def _told(changeset: Changeset) -> ServerSentEvent:
    return ServerSentEvent(event="changeset", raw_data=json.dumps(plain(changeset)), id=str(changeset.id))


class Watch:
    """One user, looked at for everybody who listens."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._listeners: set[asyncio.Queue[ServerSentEvent | None]] = set()
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._seen = Look()

    async def listen(self, last: int | None = None) -> AsyncIterator[ServerSentEvent]:
        """An overview at once, what is new after the changeset that was heard `last`, and then what is new."""
        heard: asyncio.Queue[ServerSentEvent | None] = asyncio.Queue(WAITING)
        async with self._starting:
            if self._task is None:
                self._seen = await run_in_threadpool(_look, self._memory)
                self._task = asyncio.create_task(self._watch())
        self._listeners.add(heard)
        seen = self._seen
        try:
            yield ServerSentEvent(event="overview", raw_data=seen.overview)
            missed = await run_in_threadpool(_since, self._memory, last) if last is not None else []
            for changeset in reversed(missed):
                if changeset.id <= seen.last:  # what is newer is told to all
                    yield _told(changeset)
            while (event := await heard.get()) is not None:
                yield event
        finally:
            self._listeners.discard(heard)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                look = await run_in_threadpool(_look, self._memory, self._seen.last)
            except Exception as error:  # whatever it is, those who listen would never hear of it
                log.warning("nothing can be told of what the worker does: %s", error)
                continue
            told = [_told(one) for one in look.new]
            if look.overview != self._seen.overview:
                told.append(ServerSentEvent(event="overview", raw_data=look.overview))
            self._seen = look
            self.tell(*told)

    def tell(self, *told: ServerSentEvent | None) -> None:
        """To everybody; who does not keep up is let go, and may come again."""
        for heard in self._listeners:
            if heard.qsize() + len(told) > WAITING:
                heard.get_nowait()
                heard.put_nowait(None)
            else:
                for event in told:
                    heard.put_nowait(event)


class Watches:
    """A watch for each user that somebody listens to."""

    def __init__(self) -> None:
        self._open: dict[str, Watch] = {}

    def of(self, memory: Memory) -> Watch:
        return self._open.setdefault(memory.user, Watch(memory))

    def close(self) -> None:
        """Let every listener go: a server that ends would wait for them."""
        for watch in self._open.values():
            watch.tell(None)


async def _watched(request: Request, memory: AskedMemory) -> Watch:
    """Found before the stream begins: what went wrong later could not be said any more."""
    watches: Watches = request.app.state.watches
    return watches.of(await run_in_threadpool(memory))


@events.get("", response_class=EventSourceResponse)
async def watch_events(
    watch: Annotated[Watch, Depends(_watched)],
    last_event_id: Annotated[RecordId | None, Header(description="The last changeset that was heard.")] = None,
) -> AsyncIterator[ServerSentEvent]:
    """What is going on, as it happens: an `overview` (health, totals, unindexed) at once and whenever it changed,
    a `changeset` for each new one, and a comment every 15 seconds. Who comes again gets what was missed."""
    async for event in watch.listen(last_event_id):
        yield event
