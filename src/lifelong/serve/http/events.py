"""Stream what the worker does, as server-sent events.

The worker is another process, so the database is polled: about once a second, once per user for all its listeners,
and not at all while there are none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from lifelong.memory import Memory
from lifelong.serve.hidden_paths import without_paths
from lifelong.serve.http.access import Access
from lifelong.serve.http.models import RecordId, Requested, UserMemory
from lifelong.tokens import Grant
from lifelong.types import Changeset

log = logging.getLogger("lifelong.serve")

events = APIRouter(prefix="/events", tags=["events"])

POLL_SECONDS = 1.0
ANY_LISTENER = Grant("read")
"""What all listeners to a user may see."""
CHANGESETS_PER_READ = 100
MAX_UNREAD_EVENTS = 1_000  # of one listener
MAX_LISTENERS = 200  # of all users: each holds a connection for as long as it likes, and the others need some
_arrivals = count(1)


@dataclass(slots=True)
class Snapshot:
    """What was last seen of a user. `changeset_id` is the newest one; `new` are those since the snapshot before,
    oldest first."""

    overview: str = ""
    changeset_id: int = 0
    new: tuple[Changeset, ...] = ()


def _take_snapshot(memory: Memory, after: int | None = None) -> Snapshot:
    """Look at a user. `after` is the newest changeset that was seen; without one, none is new."""
    overview = {
        "health": without_paths(memory.admin.health(), memory.store, ANY_LISTENER),
        "stats": memory.admin.stats(),
        "unindexed": memory.admin.unindexed(),
    }
    found = _changesets_after(memory, after) if after is not None else memory.documents.changesets(1)
    new = () if after is None else tuple(found[::-1])
    return Snapshot(to_json(overview).decode(), found[0].id if found else after or 0, new)


def _changesets_after(memory: Memory, after: int) -> list[Changeset]:
    """Return the changesets after this one, newest first; as many as a listener may leave unread."""
    limit = CHANGESETS_PER_READ
    while len(found := memory.documents.changesets(limit)) == limit < MAX_UNREAD_EVENTS and found[-1].id > after:
        limit = min(10 * limit, MAX_UNREAD_EVENTS)
    return [one for one in found if one.id > after]


def _event(changeset: Changeset) -> ServerSentEvent:
    return ServerSentEvent(event="changeset", raw_data=to_json(changeset).decode(), id=str(changeset.id))


class UserEvents:
    """The events of one user, polled once for all listeners. `make_room` is called when there is one more."""

    def __init__(self, memory: Memory, make_room: Callable[[], None] = lambda: None) -> None:
        self._memory = memory
        self._make_room = make_room
        self._listeners: dict[asyncio.Queue[ServerSentEvent | None], int] = {}  # oldest first, numbered
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._seen = Snapshot()

    async def listen(self, after: int | None = None) -> AsyncGenerator[ServerSentEvent]:
        """Yield an overview at once, the changesets after the one that was heard last, and then what is new."""
        queue: asyncio.Queue[ServerSentEvent | None] = asyncio.Queue(MAX_UNREAD_EVENTS)
        async with self._starting:
            if self._task is None:
                self._seen = await run_in_threadpool(_take_snapshot, self._memory)
                self._task = asyncio.create_task(self._poll())
        self._listeners[queue] = next(_arrivals)
        self._make_room()
        seen = self._seen
        try:
            yield ServerSentEvent(event="overview", raw_data=seen.overview)
            missed = await run_in_threadpool(_changesets_after, self._memory, after) if after is not None else []
            for changeset in reversed(missed):
                if changeset.id <= seen.changeset_id:  # newer ones come through the queue
                    yield _event(changeset)
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._listeners.pop(queue, None)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                snapshot = await run_in_threadpool(_take_snapshot, self._memory, self._seen.changeset_id)
            except Exception as error:  # any of them would end the events without a word to the listeners
                log.warning(
                    "the state of user %s cannot be read, so no events are sent: %s", self._memory.user, error
                )
                continue
            new = [_event(one) for one in snapshot.new]
            if snapshot.overview != self._seen.overview:
                new.append(ServerSentEvent(event="overview", raw_data=snapshot.overview))
            self._seen = snapshot
            self.send(*new)

    def send(self, *new: ServerSentEvent | None) -> None:
        """Send events to every listener. One that does not keep up is disconnected, and may come again."""
        for queue in self._listeners:
            if queue.qsize() + len(new) > MAX_UNREAD_EVENTS:
                _disconnect(queue)
            else:
                for event in new:
                    queue.put_nowait(event)

    def count(self) -> int:
        """Return how many listen."""
        return len(self._listeners)

    def oldest(self) -> int:
        """Return the number of who has listened longest, of those of all users; 0 where nobody does."""
        return next(iter(self._listeners.values()), 0)

    def disconnect_oldest(self) -> None:
        """Disconnect who has listened longest."""
        oldest = next(iter(self._listeners))
        del self._listeners[oldest]
        _disconnect(oldest)


def _disconnect(queue: asyncio.Queue[ServerSentEvent | None]) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(None)


class EventHub:
    """The events of each user that has listeners."""

    def __init__(self) -> None:
        self._users: dict[str, UserEvents] = {}

    def of(self, memory: Memory) -> UserEvents:
        return self._users.setdefault(memory.user, UserEvents(memory, self._make_room))

    def _make_room(self) -> None:
        """Where too many listen, disconnect the oldest of the user who has most, or of those who have as many:
        others need connections, too."""
        if sum(one.count() for one in self._users.values()) > MAX_LISTENERS:
            max(self._users.values(), key=lambda one: (one.count(), -one.oldest())).disconnect_oldest()

    def close(self) -> None:
        """Disconnect every listener: a server that ends would wait for them."""
        for user_events in self._users.values():
            user_events.send(None)


async def _user_events(request: Request, memory: UserMemory) -> UserEvents:
    """Find the user before the stream begins: later, an error could not be answered any more."""
    hub: EventHub = request.app.state.events
    return hub.of(await run_in_threadpool(memory))


@events.get("", response_class=EventSourceResponse)
async def watch_events(
    request: Request,
    requested: Requested,
    user_events: Annotated[UserEvents, Depends(_user_events)],
    last_event_id: Annotated[RecordId | None, Header(description="The last changeset that was heard.")] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Stream what happens: an `overview` (health, stats, unindexed) at once and whenever it changes, a `changeset`
    for each new one, and a comment every 15 seconds. With `Last-Event-ID`, also the changesets missed since. It
    ends when the token is revoked."""
    access: Access = request.app.state.access
    async with aclosing(user_events.listen(last_event_id)) as heard:
        async for event in heard:
            if not await access.is_valid(requested.grant):
                return
            yield event
